"""JSON values without any framing, cut out of a stream of bytes. Does no I/O.

::

    splitter = Splitter()
    splitter.receive(data)
    while (found := splitter.next()) is not None:
        ...

How the bytes are cut into segments changes nothing: the same stream gives the same values, and is
broken at the same place for the same reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from croupier_common.messages import MAX_MESSAGE, Rejected, load_json
from croupier_common.verdict import Verdict

__all__ = ["MAX_DEPTH", "Broken", "Splitter", "Value"]

MAX_DEPTH: Final = 64
"""How deep arrays and objects may nest; a state of a game needs 5."""

_SHOWN: Final = 400

_BLANK: Final = re.compile(rb"[ \t\n\r]*")
_NO_NUMBER: Final = re.compile(rb"[^-+.0-9eE]")
_OF_NOTE: Final = re.compile(rb"[^-+.0-9eEtrufalsn,: \t\n\r]")
"""Outside strings: a quote, a bracket, or what no JSON has there."""
_IN_STRING: Final = re.compile(rb'["\\]')
_LITERALS: Final = {word[0]: word for word in (b"true", b"false", b"null")}


@dataclass(frozen=True, slots=True)
class Value:
    """A whole JSON value, and the text that it was."""

    value: object
    raw: str


@dataclass(frozen=True, slots=True)
class Broken:
    """No value can come any more: what came is no JSON, or too much of it.

    Attributes:
        verdict: ``malformed`` or ``oversize``.
        raw: the beginning of what came since the last value.
    """

    verdict: Verdict
    detail: str
    raw: str


class _NoJson(Exception):
    """The first `length` bytes show that this is no JSON."""

    def __init__(self, detail: str, length: int) -> None:
        super().__init__(detail)
        self.length = length


class Splitter:
    """Takes bytes, gives values.

    A number is whole only when something follows it or the stream has ended, so that a truncated
    one is never read as a smaller one; all other values show their end themselves.

    Args:
        limit: how many bytes a value may have, with the white space before it.
    """

    __slots__ = ("_at", "_depth", "_ended", "_in_string", "_is_broken", "_limit", "_raw", "_start")

    def __init__(self, limit: int = MAX_MESSAGE) -> None:
        self._limit = limit
        self._raw = bytearray()  # all that came after the last value
        self._is_broken = False
        self._ended = False
        self._begin()

    def _begin(self) -> None:
        self._start = -1  # where the value begins, once something of it has come
        self._at = 0  # where to look on
        self._depth = 0
        self._in_string = False

    @property
    def pending(self) -> str:
        """The beginning of a value that is not whole yet; empty if none has begun."""
        return _text(self._raw.lstrip(b" \t\n\r"))

    def receive(self, data: bytes) -> None:
        """Take more bytes."""
        if not self._is_broken:
            self._raw += data

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True

    def next(self) -> Value | Broken | None:
        """The next value, or None until more bytes come; None for good after `Broken`."""
        if self._is_broken:
            return None
        try:
            end = self._find_end()
        except _NoJson as problem:
            return self._break(str(problem), problem.length)
        if end is None:
            length = len(self._raw)
            return self._break("", length) if length > self._limit else None
        if end > self._limit:
            return self._break("", end)
        raw = bytes(self._raw[:end])
        try:
            value = load_json(raw)
        except Rejected as problem:
            return self._break(str(problem), end)
        del self._raw[:end]
        self._begin()
        return Value(value, raw.lstrip().decode())

    def _break(self, detail: str, length: int) -> Broken:
        """Give up, at a byte: what is wrong beyond the limit was too much before it was wrong."""
        raw, self._is_broken = _text(self._raw), True
        self._raw.clear()
        if length > self._limit:
            return Broken(Verdict.OVERSIZE, f"a value of more than {self._limit} bytes", raw)
        return Broken(Verdict.MALFORMED, detail, raw)

    def _find_end(self) -> int | None:
        """Where the value ends, if it does.

        Raises:
            _NoJson: it can't become one.
        """
        raw = self._raw
        if self._start < 0:
            blank = _BLANK.match(raw, self._at)
            self._at = len(raw) if blank is None else blank.end()
            if self._at == len(raw):
                return None
            self._start = self._at
        first = raw[self._start]
        if first in b'"[{':
            return self._end_of_nested()
        if first in b"-0123456789":
            after = _NO_NUMBER.search(raw, self._at)
            self._at = len(raw) if after is None else after.start()
            is_whole = after is not None or (self._ended and raw[-1:].isdigit())
            return self._at if is_whole else None
        return self._end_of_literal(_LITERALS.get(first, b""))

    def _end_of_literal(self, literal: bytes) -> int | None:
        start = self._start
        there = self._raw[start : start + max(len(literal), 1)]
        for at, byte in enumerate(there):
            if at >= len(literal) or byte != literal[at]:
                raise _NoJson(
                    f"not JSON: {_text(there[: at + 1])!r} begins no value", start + at + 1
                )
        return start + len(literal) if len(there) == len(literal) else None

    def _end_of_nested(self) -> int | None:
        """The end of a string, or of an array or object with all that is in it."""
        raw = self._raw
        while self._at < len(raw):
            found = (_IN_STRING if self._in_string else _OF_NOTE).search(raw, self._at)
            if found is None:
                self._at = len(raw)
                break
            self._at = end = found.end()
            byte = raw[end - 1]
            if byte == ord("\\"):
                self._at += 1  # whatever is escaped does not end the string
            elif byte == ord('"'):
                self._in_string = not self._in_string
            elif byte in b"[{":
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise _NoJson(f"nested more than {MAX_DEPTH} deep", end)
            elif byte in b"]}":
                self._depth -= 1
            else:
                raise _NoJson(f"not JSON: {_text(raw[end - 1 : end])!r} outside a string", end)
            if not self._depth and not self._in_string:
                return end
        return None


def _text(raw: bytes | bytearray) -> str:
    return raw[:_SHOWN].decode(errors="replace")
