"""What a tournament is played by, as it is kept with it, so that it goes on with just that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from croupier_server.errors import UserError
from croupier_server.settings import Settings, load_settings

__all__ = ["check_same", "kept", "settled_by"]

_FREE: Final = frozenset({"games_at_once", "seed"})
"""What of the tournament may be another after a restart; no seed means the one that there is."""


def kept(settings: Settings) -> dict[str, Any]:
    """The settings that a tournament is played by, as JSON; without tokens and other secrets."""
    return {
        "clocks": settings.clocks.model_dump(mode="json"),
        "game": {"rules": settings.game.rules.to_json(), "board": settings.game.board.to_json()},
        "tournament": settings.tournament.model_dump(mode="json"),
        "lobby": {
            "house": [entry.to_json() for entry in settings.lobby.house],
            "late": settings.lobby.late,
            "ages": settings.lobby.ages,
            "max_players": settings.lobby.max_players,
            "min_players": settings.lobby.min_players,
            "roster": _path(settings.lobby.roster),
            "programs": [
                {
                    **asdict(program),
                    "command": list(program.command),
                    "cwd": _path(program.cwd),
                    "log": _path(program.log),
                    "env": {},  # there may be secrets in it
                    "token": None,
                }
                for program in settings.lobby.programs
            ],
        },
    }


def settled_by(config: Mapping[str, Any], settings: Settings) -> Settings:
    """Settings in which all that a tournament was begun with stands as it was.

    Programs have the tokens and variables of the new settings, since those are not kept.
    """
    begun = load_settings(None, {section: dict(values) for section, values in config.items()})
    given = {program.name: program for program in settings.lobby.programs}
    programs = tuple(
        replace(program, token=now.token, env=now.env)
        if (now := given.get(program.name))
        else program
        for program in begun.lobby.programs
    )
    return settings.model_copy(
        update={
            "clocks": begun.clocks,
            "game": begun.game,
            "tournament": begun.tournament.model_copy(
                update={"games_at_once": settings.tournament.games_at_once}
            ),
            "lobby": begun.lobby.model_copy(update={"programs": programs}),
        }
    )


def check_same(config: Mapping[str, Any], settings: Settings) -> None:
    """Check that a tournament that goes on is asked for as it was begun.

    Raises:
        UserError: the game or the format is another now.
    """
    now = kept(settings)
    for section in ("game", "tournament"):
        for name, was in config[section].items():
            new = now[section].get(name)
            if new != was and name not in _FREE:
                raise UserError(
                    f"{section}.{name} is {new}, and tournament "
                    f"{config['tournament']['name']} was begun with {was}; "
                    "set that, or give the tournament another name"
                )


def _path(path: object) -> str | None:
    return None if path is None else str(path)
