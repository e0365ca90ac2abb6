"""Write a player for the hex board game Fish, try it, and take it to a tournament.

::

    from croupier_client import Move, Placement, Player, View

Names are imported when they are first used, so that ``penguin --help`` starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from croupier_client.connection import Client
    from croupier_client.ending import Ending, EndingKind
    from croupier_client.errors import BadAnswer, BadURL, ClientError, LoadError
    from croupier_client.joining import JoinOptions
    from croupier_client.loader import Target, load
    from croupier_client.local import Match
    from croupier_client.player import ActionLike, Ejection, Player, View
    from croupier_client.stdio import serve_stdio
    from croupier_common.actions import Action, Move, Placement
    from croupier_common.grid import Position
    from croupier_common.outcome import Color, Outcome
    from croupier_common.state import State

__all__ = [
    "Action",
    "ActionLike",
    "BadAnswer",
    "BadURL",
    "Client",
    "ClientError",
    "Color",
    "Ejection",
    "Ending",
    "EndingKind",
    "JoinOptions",
    "LoadError",
    "Match",
    "Move",
    "Outcome",
    "Placement",
    "Player",
    "Position",
    "State",
    "Target",
    "View",
    "__version__",
    "load",
    "serve_stdio",
]

__version__ = "0.1.0"

_HOMES: Final = {
    "croupier_client.connection": ("Client",),
    "croupier_client.ending": ("Ending", "EndingKind"),
    "croupier_client.errors": ("BadAnswer", "BadURL", "ClientError", "LoadError"),
    "croupier_client.joining": ("JoinOptions",),
    "croupier_client.loader": ("Target", "load"),
    "croupier_client.local": ("Match",),
    "croupier_client.player": ("ActionLike", "Ejection", "Player", "View"),
    "croupier_client.stdio": ("serve_stdio",),
    "croupier_common.actions": ("Action", "Move", "Placement"),
    "croupier_common.grid": ("Position",),
    "croupier_common.outcome": ("Color", "Outcome"),
    "croupier_common.state": ("State",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
