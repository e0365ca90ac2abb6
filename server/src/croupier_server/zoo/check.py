"""``croupier check``: the hostile zoo against a server, in one of its tournaments."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click
from websockets.exceptions import InvalidHandshake

from croupier_common.session import CloseCode
from croupier_common.verdict import Verdict
from croupier_server.errors import UserError
from croupier_server.load.target import check_url
from croupier_server.zoo.programs import PLAYS_ON, PROGRAMS, Program
from croupier_server.zoo.wire import Script, Wire

__all__ = ["Visit", "check", "visit_all"]


_CLOSED: Final = "closed with code"

_UNTRIED: Final = "had no occasion for it"

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
    def is_untried(self) -> bool:
        """Whether it never came to do what it does, so that nothing is shown by its end."""
        return self.end == _UNTRIED

    @property
    def is_right(self) -> bool:
        """Whether it ended as it should, as far as the player itself is told."""
        if self.program is None:
            return self.end == PLAYS_ON
        return (
            self.is_untried
            or self.end in self.program.ends
            or (self.end.startswith(_CLOSED) and not self.program.ends.isdisjoint(_UNTOLD))
        )


async def visit_all(url: str, programs: Sequence[Program], honest: int) -> list[Visit]:
    """Join a tournament with all programs and so many honest players, and see how each ends.

    Raises:
        OSError, InvalidHandshake: the server can't be reached, or is none.
    """
    players: list[tuple[Script, Program | None]] = [
        (program.script, program) for program in programs
    ]
    players += [(Script(f"honest-{number}"), None) for number in range(1, honest + 1)]
    async with asyncio.TaskGroup() as group:
        visits: list[asyncio.Task[Wire]] = []
        for script, _ in players:
            joined = asyncio.Event()
            visits.append(group.create_task(script.visit(url, joined)))
            await joined.wait()
    return [
        Visit(script.name, _end(task.result(), program), program)
        for (script, program), task in zip(players, visits, strict=True)
    ]


def _end(wire: Wire, program: Program | None) -> str:
    """How a visit ended, by what the player itself was told."""
    for call in wire.calls("ejected"):
        return str(call["params"]["verdict"])
    if wire.close_code == CloseCode.EJECTED:
        return wire.close_reason
    if wire.close_code == CloseCode.DONE and wire.calls("tournament_end"):
        return PLAYS_ON if program is None or wire.has_acted else _UNTRIED
    closed = f"{_CLOSED} {wire.close_code} {wire.close_reason}".strip()
    return closed if program is None or wire.has_acted else f"did nothing, and was {closed}"


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
    the honest players among them were left in peace. One that had no occasion for it, since its
    game was over too soon, is marked with a dash and shows nothing. A server for it is
    `croupier serve --wait 5 --move-time 1`. Exit code: 0 if none ended wrong, 1 if one did.
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
    check_url(url, is_mine=True)
    try:
        visits = asyncio.run(visit_all(url, programs, honest))
    except* (OSError, InvalidHandshake) as problems:
        first: BaseException = problems
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise UserError(f"can't reach {url}: {first}") from None
    return _report(visits)


def _report(visits: Sequence[Visit]) -> int:
    for visit in visits:
        mark = "-    " if visit.is_untried else "ok   " if visit.is_right else "WRONG"
        wanted = sorted(visit.program.ends) if visit.program else [PLAYS_ON]
        told = visit.end if visit.is_right else f"{visit.end}, not {' or '.join(wanted)}"
        click.echo(f"{mark}  {visit.name:<20} {told}")
    wrong = sum(not visit.is_right for visit in visits)
    untried = sum(visit.is_untried for visit in visits)
    told = f", {untried} had no occasion for what they do" if untried else ""
    click.echo(f"{len(visits) - wrong - untried} of {len(visits)} ended as they should{told}")
    return 1 if wrong else 0
