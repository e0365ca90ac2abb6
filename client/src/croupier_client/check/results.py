"""What a check finds: messages as they were exchanged, problems with hints, results of steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from croupier_common.verdict import Verdict

__all__ = ["Failed", "Findings", "Log", "Message", "Result", "Skipped", "Status"]

_KEPT: Final = 4
_CUT: Final = 4_000
_NOTES: Final = 10


class Status(StrEnum):
    """How a step ended."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class Failed(Exception):
    """The player did something wrong.

    Attributes:
        hint: what to do about it.
        verdict: what a server would hold against it, if anything.
        breaks: whether nothing more can be asked on this connection.
    """

    def __init__(
        self, problem: str, hint: str = "", *, verdict: Verdict | None = None, breaks: bool = False
    ) -> None:
        super().__init__(problem)
        self.hint = hint or (verdict.fix if verdict is not None else "")
        self.verdict = verdict
        self.breaks = breaks


class Skipped(Exception):
    """A step does not apply, or can't be done; the message says why."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was sent or received, cut where it is long.

    Attributes:
        sender: ``check`` or ``player``.
    """

    sender: str
    text: str

    def to_json(self) -> dict[str, str]:
        """The same as JSON."""
        return {"sender": self.sender, "text": self.text}


class Log:
    """The last messages of a step, and what the player's end says beside them."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.notes: list[str] = []
        self._is_frozen = False

    def sent(self, text: str) -> None:
        """Note what the check sends."""
        self._note(Message("check", _cut(text)))

    def received(self, raw: str | bytes) -> None:
        """Note what the player sent."""
        if isinstance(raw, bytes):
            self._note(Message("player", f"(binary) {raw[:_CUT]!r}"))
        else:
            self._note(Message("player", _cut(raw)))

    def say(self, text: str) -> None:
        """Note what the player's end tells its author: an exception, say."""
        self.notes.append(text)
        del self.notes[:-_NOTES]

    def clear(self) -> None:
        """Begin another step."""
        self.messages.clear()
        self.notes.clear()
        self._is_frozen = False

    def freeze(self) -> None:
        """Something went wrong; what is exchanged from now on does not tell of it."""
        self._is_frozen = True

    def _note(self, message: Message) -> None:
        if not self._is_frozen:
            self.messages.append(message)
            del self.messages[:-_KEPT]


@dataclass(frozen=True, slots=True)
class Result:
    """How a step ended.

    Attributes:
        about: what the step is about, in one sentence.
        told: what was wrong, or why the step was skipped.
        verdict: what a server would hold against the player.
        messages: the last ones before it went wrong, oldest first.
        notes: what the player's end told beside them.
    """

    name: str
    group: str
    about: str
    status: Status
    took_ms: int
    told: str = ""
    hint: str = ""
    verdict: Verdict | None = None
    messages: tuple[Message, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "step": self.name,
            "group": self.group,
            "about": self.about,
            "status": self.status.value,
            "took_ms": self.took_ms,
            "told": self.told,
            "hint": self.hint,
            "verdict": None if self.verdict is None else self.verdict.value,
            "messages": [message.to_json() for message in self.messages],
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class Findings:
    """All that a check found.

    Attributes:
        target: what was checked.
        times_ms: by method, how long each answer took.
    """

    target: str
    budget_ms: int
    results: list[Result] = field(default_factory=list[Result])
    times_ms: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    took_ms: int = 0

    def count(self, status: Status) -> int:
        """How many steps ended so."""
        return sum(result.status is status for result in self.results)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.count(Status.FAIL)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[:_CUT]}... ({len(text)} characters)"
