"""What submissions are called: made of their files' names, fit for any file system and table."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["names_of"]

_MOST: Final = 48
_DIGITS: Final = 6
_SUFFIXES: Final = re.compile(r"\.(zip|py|tar|gz|tgz|rar|7z)$", re.IGNORECASE)
_MOODLE: Final = re.compile(r"_assignsubmission_(file|onlinetext)_?")
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}
)
"""Names that mean a device on Windows, in any folder."""


def names_of(sources: Sequence[str]) -> Mapping[str, str]:
    """By the name of its file, what each submission is called.

    Letters and digits of any script stay, with - and _; no two are the same, be it but for case.
    Who else is there does not matter, but for those whose names would be the same: these, and
    names that were cut or had nothing to keep, have some digits of a hash at their end.
    """
    plain = {source: _plain(source) for source in sources}
    number = Counter(map(_key, plain.values()))
    found = {
        source: name if name and number[_key(name)] == 1 and len(name) <= _MOST else _hashed(source)
        for source, name in plain.items()
    }
    digits = _DIGITS
    while alike := _alike(found):  # somebody has made a name like that with another's digits
        digits += 2
        found |= {source: _hashed(source, digits) for source in alike}
    return found


def _alike(names: Mapping[str, str]) -> Sequence[str]:
    """The sources whose names are the same as another's."""
    number = Counter(map(_key, names.values()))
    return [source for source, name in names.items() if number[_key(name)] > 1]


def _plain(source: str) -> str:
    name = _SUFFIXES.sub("", unicodedata.normalize("NFC", source))
    name = _MOODLE.sub("_", name)
    kept = "".join(char if _is_kept(char) else "-" for char in name)
    name = re.sub(r"-*_+-*", "_", re.sub("--+", "-", kept)).strip("-_")
    if len(name.encode()) > 2 * _MOST:  # many letters have three bytes, and a name at most 255
        name = _cut(name) + "-" * _MOST
    return f"{name}_" if name.lower() in _DEVICES else name


def _hashed(source: str, digits: int = _DIGITS) -> str:
    ending = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:digits]
    return f"{_cut(_plain(source)).strip('-_') or 'submission'}-{ending}"


def _cut(name: str) -> str:
    """Its beginning, at most so many bytes that a hash has room behind it."""
    return name[: _MOST - 7].encode()[: 2 * _MOST - 7].decode(errors="ignore")


def _is_kept(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LNM"


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
