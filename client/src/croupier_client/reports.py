"""What the author of a player is told when its code fails: where, why, and in which state."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any, Final

from croupier_client.player import View
from croupier_common.notation import state_to_json
from croupier_common.render import render

__all__ = ["moment", "report_bad_answer", "report_exception", "report_illegal"]

_KIT: Final = str(Path(__file__).parent)


def report_exception(what: str, problem: BaseException, view: View | None) -> str:
    """What an exception in a player's code looks like, with its traceback from there on."""
    frames = problem.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_KIT):
        frames = frames.tb_next
    raised = "".join(traceback.format_exception(type(problem), problem, frames)).rstrip()
    return f"{what} failed{_where(view)}:\n{raised}{_state(view)}"


def report_bad_answer(what: str, reason: str, view: View | None) -> str:
    """What it looks like when something is returned that is no action."""
    return f"{what} failed{_where(view)}: {reason}{_state(view)}"


def report_illegal(what: str, reason: str, view: View) -> str:
    """What an action against the rules looks like."""
    return f"{what} broke the rules{_where(view)}: {reason}{_state(view)}"


def moment(view: View) -> dict[str, Any]:
    """A view as JSON: enough to ask the same thing again."""
    return {
        "game": view.game,
        "you": view.you.value,
        "budget_ms": view.budget_ms,
        "state": state_to_json(view.state),
        "events": [event.to_json() for event in view.events],
    }


def _where(view: View | None) -> str:
    return "" if view is None else f" in game {view.game}"


def _state(view: View | None) -> str:
    if view is None:
        return ""
    board = render(view.state, unicode=False, names=view.names)
    line = json.dumps(moment(view), separators=(",", ":"))
    return f"\nYou are {view.you}, and this is the state:\n{board}\n{line}"
