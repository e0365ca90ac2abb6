"""What is to be done to a server: the players, where they go, and their pace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from croupier_server.errors import Refused, UserError
from croupier_server.names import checked_name

__all__ = ["Plan", "Visitor", "read_tokens", "visitors"]

AT_ONCE: Final = 24
"""Connections that have not joined yet, of all processes; a server allows an address 32."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """One player to be.

    Attributes:
        is_idle: whether it is there to wait, and is not waited for.
    """

    name: str
    room: str | None = None
    token: str | None = None
    is_idle: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What one process, or all of them together, have to do.

    Attributes:
        rate: how many connections are opened in a second.
        at_once: how many of them may be on their way to having joined.
        think_s: the shortest and the longest time that a turn is thought over.
        seconds: when to leave, from the start; infinite to stay until the server has ended all.
        legal_actions: whether the server is asked to list them.
    """

    url: str
    visitors: tuple[Visitor, ...]
    rate: float = 200.0
    at_once: int = AT_ONCE
    think_s: tuple[float, float] = (0.0, 0.0)
    seconds: float = math.inf
    legal_actions: bool = False

    def shares(self, processes: int) -> Sequence[Plan]:
        """The same, dealt to so many processes."""
        return [
            replace(
                self,
                visitors=self.visitors[first::processes],
                rate=self.rate / processes,
                at_once=max(1, self.at_once // processes),
            )
            for first in range(processes)
        ]


def visitors(
    players: int,
    idle: int,
    *,
    prefix: str,
    rooms: Sequence[str] = (),
    idle_room: str | None = None,
    tokens: Sequence[tuple[str, str]] = (),
) -> tuple[Visitor, ...]:
    """The players: first those who wait, so that they are there when the others play.

    Args:
        rooms: the players go to these in turn; to where the server puts them if there are none.
        tokens: the entrants to be, each with its token; names are made up if there are none.

    Raises:
        UserError: there are fewer entrants than players, or the prefix makes no name.
    """
    if tokens and len(tokens) < players + idle:
        raise UserError(
            f"--token-file: it has {len(tokens)} entrants, and {players + idle} are to join"
        )
    waiting = [f"{prefix}idle-{number}" for number in range(1, idle + 1)]
    playing = [f"{prefix}{number}" for number in range(1, players + 1)]
    names = [*waiting, *playing]
    try:
        for name in (*waiting[-1:], *playing[-1:]):  # the longest ones
            checked_name(name)
    except Refused as refused:
        raise UserError(f"--name-prefix {prefix!r:.60}: {refused}") from None
    entrants: Sequence[tuple[str, str | None]] = tokens or [(name, None) for name in names]
    all_rooms: Sequence[str | None] = rooms or [None]
    return tuple(
        Visitor(
            name,
            all_rooms[(at - idle) % len(all_rooms)] if at >= idle else (idle_room or all_rooms[0]),
            token,
            is_idle=at < idle,
        )
        for at, (name, token) in enumerate(entrants[: players + idle])
    )


def read_tokens(path: Path) -> Sequence[tuple[str, str]]:
    """The entrants in a file and their tokens, as `croupier token` prints them.

    Raises:
        UserError: it can't be read, or a line is no name, a tab, and a token.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise UserError(f"{path}: not UTF-8: {problem.reason}") from None
    found: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        name, tab, token = line.partition("\t")
        if not line.strip():
            continue
        if not (name and tab and token.strip()):  # the line is a secret, and not shown
            raise UserError(f"{path} line {number}: not a name, a tab and a token")
        found.append((name, token.strip()))
    if not found:
        raise UserError(f"{path}: no entrants; `croupier token NAME...` prints them")
    return found
