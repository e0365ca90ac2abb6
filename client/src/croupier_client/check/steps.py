"""The steps of a check, in their order; each one is a function, and its docstring what it is about.

A step raises :class:`~croupier_client.check.results.Failed` where the player is at fault, and
:class:`~croupier_client.check.results.Skipped` where it does not apply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from croupier_client.check import boards, games, joining, leaving, messages, turns
from croupier_client.check.checker import Checker

__all__ = ["STEPS", "Step", "chosen"]

Function = Callable[[Checker], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        group: what it belongs to.
        about: what it is about, in one sentence.
    """

    name: str
    group: str
    about: str
    function: Function


def _steps(group: str, functions: Sequence[Function]) -> tuple[Step, ...]:
    return tuple(
        Step(
            function.__name__.replace("_", "-"),
            group,
            (function.__doc__ or "").partition("\n")[0],
            function,
        )
        for function in functions
    )


STEPS: Final = (
    *_steps("joining", joining.STEPS),
    *_steps("messages", messages.STEPS),
    *_steps("boards", boards.STEPS),
    *_steps("turns", turns.STEPS),
    *_steps("games", games.STEPS),
    *_steps("the end", leaving.STEPS),
    *_steps("coming back", leaving.AGAIN),
)
"""All steps."""


def chosen(names: Sequence[str]) -> tuple[Step, ...]:
    """The steps of those names or groups, in their own order; all of them if there is no name.

    Raises:
        ValueError: there is none of a name.
    """
    known = {step.name for step in STEPS} | {step.group for step in STEPS}
    for name in names:
        if name not in known:
            raise ValueError(f"no step {name!r:.60}; 'penguin check --list' shows them")
    return tuple(step for step in STEPS if not names or {step.name, step.group} & set(names))
