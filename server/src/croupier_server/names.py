"""Players' names: what can be one, when two are the same, and when two look the same."""

from __future__ import annotations

import unicodedata

from croupier_common.messages import ErrorCode
from croupier_server.errors import Refused

__all__ = ["checked_name", "likeness", "name_key"]

MAX_NAME = 32


def checked_name(name: str) -> str:
    """A player's name in its normal form (Unicode's NFC).

    Raises:
        Refused: it has characters that can't be printed, or spaces at an end.
    """
    normal = unicodedata.normalize("NFC", name)
    if not normal.isprintable() or normal != normal.strip() or not 1 <= len(normal) <= MAX_NAME:
        raise Refused(
            f"a name has 1 to {MAX_NAME} printable characters, and no space at either end",
            ErrorCode.NAME,
        )
    return normal


def name_key(name: str) -> str:
    """Equal for names that are the same but for case and the way in which Unicode writes them."""
    return unicodedata.normalize("NFKC", name).casefold()


def likeness(name: str) -> str:
    """Equal for names that a reader takes for one another, by Unicode's table of confusables.

    ``Ada`` with a Cyrillic letter and ``Ada`` are alike, and so are ``l1`` and ``Il``.
    """
    return "".join(map(_prototype, unicodedata.normalize("NFKC", name))).casefold()


def _prototype(character: str) -> str:
    """The character that stands for all that look like this one.

    In the table, such a character lists all the others, and each of these lists it alone.
    """
    from confusable_homoglyphs import confusables  # a large table, for who has a roster only

    found = confusables.is_confusable(character, greedy=True)
    if not found or len(found[0]["homoglyphs"]) != 1:
        return character
    return found[0]["homoglyphs"][0]["c"]
