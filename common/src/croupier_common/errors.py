"""The exceptions of croupier_common.

::

    FishError                     root of this distribution
    ├── InvalidBoard              a board, or the spec of one, that can't be
    ├── InvalidRules              options that are unknown or don't go together
    ├── InvalidState              a state that no game could reach
    ├── InvalidStrategy           the spec of a strategy, or a depth, that can't be
    ├── ActionError
    │   ├── NotAnAction           not notation: the text is no position or move
    │   └── IllegalAction         notation, but not legal in this state
    ├── NotAMessage               bytes that are no message of the protocol
    └── RecordError               a record that is damaged, cut off or wrong

What a player does wrong travels as a :class:`~croupier_common.verdict.Fault`, not as an exception;
the two :class:`ActionError` classes are where such a fault comes from.
"""

from __future__ import annotations

__all__ = [
    "ActionError",
    "FishError",
    "IllegalAction",
    "InvalidBoard",
    "InvalidRules",
    "InvalidState",
    "InvalidStrategy",
    "NotAMessage",
    "NotAnAction",
    "RecordError",
]


class FishError(Exception):
    """Root of the exceptions of this distribution; the message is one clear line."""


class InvalidBoard(FishError, ValueError):
    """A board or a board spec that can't be: what, where and what is allowed."""


class InvalidRules(FishError, ValueError):
    """An unknown rule option, an unknown value, or a pair of options that don't go together."""


class InvalidState(FishError, ValueError):
    """A state that no game could reach, with the reason."""


class InvalidStrategy(FishError, ValueError):
    """An unknown strategy, or an argument that it can't work with: what is allowed."""


class ActionError(FishError, ValueError):
    """Base of the two ways in which an action is wrong."""


class NotAnAction(ActionError):
    """Not notation: the value is no position and no move, whatever the state."""


class IllegalAction(ActionError):
    """A position or move that is not legal in the state it was tried in."""


class NotAMessage(FishError, ValueError):
    """Bytes that are not a message of the protocol; ``str()`` says why."""


class RecordError(FishError, ValueError):
    """A record that is damaged, cut off or says something that the rules don't.

    ``line`` is the number of the offending line, from 1.
    """

    def __init__(self, reason: str, *, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.line = line
