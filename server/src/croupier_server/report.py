"""What the command line tells of a tournament, as plain lines."""

from __future__ import annotations

from collections.abc import Iterator

from croupier_server.tournament.manager import (
    GameOver,
    PlayerOut,
    Progress,
    RoundBegins,
    TournamentResult,
)

__all__ = ["describe", "standings"]


def describe(progress: Progress) -> str:
    """One line on what has just happened."""
    match progress:
        case RoundBegins(following):
            games = len(following.pairings)
            return f"round {following.number}: {games} game{'s' * (games != 1)}"
        case GameOver(pairing, None):
            return f"game {pairing.game}: void, for a fault of the server (see its log)"
        case GameOver(pairing, report):
            assert report is not None
            return f"game {pairing.game}: {_ranking(report.ranking)} in {report.plies} plies"
        case PlayerOut(name, fault):
            return f"{name} is out: {fault.verdict} in {fault.phase}: {fault.detail}"


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
        yield f"       {name}: {fault.verdict} in {fault.phase}: {fault.detail}"
        yield f"           {fault.verdict.fix}"


def _ranking(ranking: tuple[tuple[str, ...], ...]) -> str:
    return " > ".join(" = ".join(group) for group in ranking) or "all ejected"
