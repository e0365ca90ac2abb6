"""How the pages say things: names from outside, times, shares, states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from croupier_common.render import printable
from croupier_server.commands.csv_files import moment, number
from croupier_server.commands.point_text import point_text
from croupier_server.commands.spans import span

__all__ = ["filters"]

STATES: Final = {
    "gathering": "waiting for players",
    "running": "running",
    "paused": "paused",
    "stopped": "stopped",
    "finished": "over",
    "failed": "failed",
    "open": "waiting",
    "interrupted": "interrupted",
    "superseded": "played again",
    "void": "void",
    "bye": "bye",
    "forfeit": "forfeit",
    "in": "in",
    "ejected": "ejected",
    "withdrawn": "withdrawn",
    "disqualified": "disqualified",
    "absent": "absent",
}

FORMATS: Final = {
    "knockout": "knock-out",
    "round-robin": "round robin",
    "swiss": "Swiss",
    "ladder": "ladder",
}


def filters() -> Mapping[str, Callable[..., Any]]:
    """The filters of the templates."""
    return {
        "shown": printable,
        "number": number,
        "points": point_text,
        "when": _when,
        "moment": moment,
        "span": span,
        "percent": _percent,
        "state": _state,
        "form": _form,
        "words": _words,
        "thousands": _thousands,
    }


def _when(time_ms: int | None) -> str:
    return moment(time_ms)[:19].replace("T", " ")


def _percent(share: float) -> str:
    return f"{100 * float(share):.0f}%"


def _state(name: str) -> str:
    return STATES.get(name, name)


def _form(name: str) -> str:
    return FORMATS.get(name, name)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _thousands(count: int) -> str:
    return f"{count:,}"
