"""Messages as lines of text, sans I/O: bytes from a pipe made into lines, and a message into bytes.

A line is UTF-8 and ends with LF; CRLF is read as well. Lines of nothing but blanks are passed over,
as is a byte-order mark at the very beginning. What is no line comes out as a :class:`BadLine`, with
the bytes that it has, so that it can be judged or passed on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from croupier_common.messages import MAX_MESSAGE

__all__ = ["MAX_LINE", "BadLine", "Flaw", "Line", "LineSplitter", "line_bytes"]

MAX_LINE: Final = MAX_MESSAGE
"""The longest line from a player, in bytes, without what ends it."""

_BOM: Final = b"\xef\xbb\xbf"
_NEWLINES: Final = re.compile(r"[\r\n]+")
_SEPARATORS: Final = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
"""What some readers of lines (Java's Scanner, Node's readline) take for the end of one."""


class Flaw(StrEnum):
    """What is wrong with a line that is none."""

    TOO_LONG = "too long"
    NOT_UTF8 = "not UTF-8"


@dataclass(frozen=True, slots=True)
class Line:
    """A line without what ended it.

    Attributes:
        whole: False for the last one if the stream ended before the line did.
    """

    text: str
    whole: bool = True


@dataclass(frozen=True, slots=True)
class BadLine:
    """What came instead of a line.

    Attributes:
        detail: what is wrong with it, in words.
        raw: its bytes; of one that is too long, those up to the first too many.
    """

    flaw: Flaw
    detail: str
    raw: bytes

    @property
    def shown(self) -> str:
        """Its beginning, for people."""
        return self.raw[:400].decode("utf-8", "replace")


class LineSplitter:
    """Makes lines of what is read, however it was split or joined on its way.

    A line that is too long is reported as soon as it is, once, and the rest of it is passed over.

    Attributes:
        max_bytes: how long a line may be, without what ends it.
        blank: how many lines were passed over, since they had nothing in them.
    """

    __slots__ = ("_at_start", "_rest", "_skips", "blank", "max_bytes")

    def __init__(self, max_bytes: int = MAX_LINE) -> None:
        self.max_bytes = max_bytes
        self.blank = 0
        self._rest = bytearray()
        self._skips = False  # within a line that is too long
        self._at_start = True

    @property
    def has_begun(self) -> bool:
        """Whether a line has been begun that has not ended."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[Line | BadLine]:
        """The lines that end in what was read now."""
        found: list[Line | BadLine] = []
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._add(part, found)
            self._finish(found, whole=True)
        self._add(rest, found)
        return found

    def end(self) -> list[Line | BadLine]:
        """The line that was begun when the stream ended, if any."""
        found: list[Line | BadLine] = []
        self._finish(found, whole=False)
        return found

    def _add(self, part: bytes, found: list[Line | BadLine]) -> None:
        if self._skips or not part:
            return
        self._rest += part
        if self._at_start and len(self._rest) >= len(_BOM):
            self._at_start = False
            if self._rest.startswith(_BOM):
                del self._rest[: len(_BOM)]
        if len(self._rest) - self._rest.endswith(b"\r") > self.max_bytes:
            detail = f"a line of more than {self.max_bytes} bytes"
            found.append(BadLine(Flaw.TOO_LONG, detail, bytes(self._rest[: self.max_bytes + 1])))
            self._rest.clear()
            self._skips = True

    def _finish(self, found: list[Line | BadLine], *, whole: bool) -> None:
        if self._skips:
            self._skips = False
            return
        raw = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        self._at_start = False
        if not raw.strip():
            self.blank += whole
            return
        try:
            found.append(Line(raw.decode(), whole))
        except UnicodeDecodeError as problem:
            detail = f"a line that is not UTF-8: {problem.reason} at byte {problem.start}"
            found.append(BadLine(Flaw.NOT_UTF8, detail, raw))


def line_bytes(text: str) -> bytes:
    """A message as the line that says the same, with what ends it.

    Newlines in a message can only be blanks between its parts; other separators of lines are
    within its strings, and are written as escapes.
    """
    if "\n" in text or "\r" in text:
        text = _NEWLINES.sub(" ", text)
    if not text.isascii():
        text = text.translate(_SEPARATORS)
    return text.encode() + b"\n"
