"""What the command line tells of a tournament, as plain lines."""

from __future__ import annotations

from collections.abc import Iterator

from croupier_common.render import printable
from croupier_common.verdict import Fault
from croupier_server.tournament.model import Result
from croupier_server.tournament.progress import (
    GameOver,
    GameStarts,
    Paused,
    PlayerOut,
    Progress,
    RoundBegins,
    TournamentResult,
)

__all__ = ["describe", "standings"]


def describe(progress: Progress) -> str | None:
    """One line on what has just happened; None if it is not worth one."""
    match progress:
        case RoundBegins(number, games):
            return f"round {number}: {games} game{'s' * (games != 1)}"
        case GameStarts():
            return None
        case GameOver(pairing, result, None):
            return f"game {pairing.game}: {_unplayed(result)}"
        case GameOver(pairing, result, plies):
            return f"game {pairing.game}: {_ranking(result.ranking)} in {plies} plies"
        case Paused(is_paused):
            return "paused: no game is started" if is_paused else "games are started again"
        case PlayerOut(name, fault):
            return f"{name} is out: {_why(fault)}"


def standings(result: TournamentResult) -> Iterator[str]:
    """The table of a tournament that has ended, and who was ejected and why."""
    yield "Standings"
    for place, name in result.standings:
        if name not in result.faults:
            won = "  winner" if name in result.winners else ""
            yield f"  {place:>3}  {name}{won}"
    if not result.winners:
        yield "  nobody won"
    if result.faults:
        yield "Ejected"
    for name, fault in sorted(result.faults.items()):
        yield f"       {name}: {_why(fault)}"
        yield f"           {fault.verdict.fix}"


def _why(fault: Fault) -> str:
    """A detail may quote what the player wrote, in which a new line would look like one of ours."""
    return f"{fault.verdict} in {fault.phase}: {printable(fault.detail, 400)}"


def _ranking(ranking: tuple[tuple[str, ...], ...]) -> str:
    return " > ".join(" = ".join(group) for group in ranking) or "all ejected"


def _unplayed(result: Result) -> str:
    if result.kind == "void":
        return "void, for a fault of the server (see its log)"
    if not result.winners:
        return "nobody was there to play it"
    return f"{', '.join(result.winners)} wins, as nobody else was there to play"
