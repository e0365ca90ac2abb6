"""Players' names: what can be one, when two are the same, and when two look the same."""

from __future__ import annotations

import unicodedata

from croupier_common.messages import ErrorCode
from croupier_server.errors import Refused

__all__ = ["checked_name", "likeness", "name_key"]

MAX_NAME = 32

_UNSEEN = (
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
)
"""What Python takes for printable and nobody sees: fillers, joiners, blanks, variants."""

_NOTHING = dict.fromkeys(_UNSEEN)


def checked_name(name: str) -> str:
    """A player's name in its normal form (Unicode's NFC).

    Raises:
        Refused: it has characters that can't be printed, none to be seen, or spaces at an end.
    """
    normal = unicodedata.normalize("NFC", name)
    is_bare = normal == normal.strip() and _seen(normal).strip() != ""
    if not normal.isprintable() or not is_bare or len(normal) > MAX_NAME:
        raise Refused(
            f"a name has 1 to {MAX_NAME} printable characters, and no space at either end",
            ErrorCode.NAME,
        )
    return normal


def name_key(name: str) -> str:
    """Equal for names that are the same but for case and the way in which Unicode writes them.

    What nobody sees makes no difference.
    """
    return _seen(name).casefold()


def likeness(name: str) -> str:
    """Equal for names that a reader takes for one another, by Unicode's table of confusables.

    ``Ada`` with a Cyrillic letter and ``Ada`` are alike, and so are ``l1`` and ``Il``.
    """
    return "".join(map(_prototype, _seen(name))).casefold()


def _seen(name: str) -> str:
    """What is to be seen of a name, in the form that Unicode has for comparisons."""
    return unicodedata.normalize("NFKC", name).translate(_NOTHING)


def _prototype(character: str) -> str:
    """The character that stands for all that look like this one.

    In the table, such a character lists all the others, and each of these lists it alone.
    """
    from confusable_homoglyphs import confusables  # a large table, for who has a roster only

    found = confusables.is_confusable(character, greedy=True)
    if not found or len(found[0]["homoglyphs"]) != 1:
        return character
    return found[0]["homoglyphs"][0]["c"]
