"""``croupier check``: the hostile zoo against a server, in one of its tournaments."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click

from croupier_common.session import CloseCode
from croupier_common.verdict import Verdict
from croupier_server.errors import UserError
from croupier_server.zoo.programs import PLAYS_ON, PROGRAMS, Program
from croupier_server.zoo.wire import Script, Wire

__all__ = ["Visit", "check", "visit_all"]


_CLOSED: Final = "closed with code"

_UNTOLD: Final = frozenset({Verdict.DISCONNECTED, Verdict.OVERSIZE, Verdict.FLOOD})
"""Verdicts on players whose connection is gone, so that they can't be told."""


@dataclass(frozen=True, slots=True)
class Visit:
    """How one player's visit ended.

    Attributes:
        end: a verdict, ``plays on``, or how the connection was lost.
        program: what it was; None for an honest player.
    """

    name: str
    end: str
    program: Program | None = None

    @property
    def is_right(self) -> bool:
        """Whether it ended as it should, as far as the player itself is told."""
        if self.program is None:
            return self.end == PLAYS_ON
        return self.end in self.program.ends or (
            self.end.startswith(_CLOSED) and not self.program.ends.isdisjoint(_UNTOLD)
        )


async def visit_all(url: str, programs: Sequence[Program], honest: int) -> list[Visit]:
    """Join a tournament with all programs and so many honest players, and see how each ends.

    Raises:
        OSError: the server can't be reached.
    """
    players: list[tuple[Script, Program | None]] = [
        (Script(program.name, program.habit), program) for program in programs
    ]
    players += [(Script(f"honest-{number}"), None) for number in range(1, honest + 1)]
    async with asyncio.TaskGroup() as group:
        visits: list[asyncio.Task[Wire]] = []
        for script, _ in players:
            joined = asyncio.Event()
            visits.append(group.create_task(script.visit(url, joined)))
            await joined.wait()
    return [
        Visit(script.name, _end(task.result()), program)
        for (script, program), task in zip(players, visits, strict=True)
    ]


def _end(wire: Wire) -> str:
    """How a visit ended, by what the player itself was told."""
    for call in wire.calls("ejected"):
        return str(call["params"]["verdict"])
    if wire.close_code == CloseCode.EJECTED:
        return wire.close_reason
    if wire.close_code == CloseCode.DONE and wire.calls("tournament_end"):
        return PLAYS_ON
    return f"{_CLOSED} {wire.close_code} {wire.close_reason}".strip()


@click.command()
@click.argument("url")
@click.option(
    "--honest", type=click.IntRange(2, 64), default=4, show_default=True, help="Honest players."
)
@click.option("--only", metavar="NAME", multiple=True, help="Only these programs.")
@click.option("--list", "lists", is_flag=True, help="List the programs, and do nothing.")
def check(url: str, honest: int, only: tuple[str, ...], lists: bool) -> int:
    """Run the hostile zoo against the server at URL, in a tournament that is about to begin.

    Each program does one thing wrong; the check says whether it ended as it should, and whether
    the honest players among them were left in peace. A server for it is
    `croupier serve --wait 5 --move-time 1`. Exit code: 0 if all ended right, 1 if not.
    """
    known = {program.name: program for program in PROGRAMS}
    for name in only:
        if name not in known:
            raise UserError(f"no program {name!r}; there are {', '.join(known)}")
    programs = [program for program in PROGRAMS if not only or program.name in only]
    if lists:
        for program in programs:
            click.echo(f"{program.name:<20} {program.about}: {' or '.join(sorted(program.ends))}")
        return 0
    if not url.startswith(("ws://", "wss://")):
        raise UserError(f"URL {url!r:.80}: a server's address begins with ws:// or wss://")
    try:
        visits = asyncio.run(visit_all(url, programs, honest))
    except* OSError as problems:
        first: BaseException = problems
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise UserError(f"can't reach {url}: {first}") from None
    return _report(visits)


def _report(visits: Sequence[Visit]) -> int:
    wrong = [visit for visit in visits if not visit.is_right]
    for visit in visits:
        mark = "ok   " if visit.is_right else "WRONG"
        wanted = sorted(visit.program.ends) if visit.program else [PLAYS_ON]
        told = visit.end if visit.is_right else f"{visit.end}, not {' or '.join(wanted)}"
        click.echo(f"{mark}  {visit.name:<20} {told}")
    click.echo(f"{len(visits) - len(wrong)} of {len(visits)} ended as they should")
    return 1 if wrong else 0
