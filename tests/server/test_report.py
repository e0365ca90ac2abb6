"""What the command line tells: one line each, whatever a player wrote."""

from __future__ import annotations

from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.report import describe, standings
from croupier_server.tournament.progress import PlayerOut, TournamentResult

FORGED = Fault(
    Verdict.ERROR_REPLY, Phase.MOVEMENT, "error 1: \x1b[31mno\r\nStandings\n    1  eve  winner"
)

ENDED = TournamentResult("t", 1, (), ((1, "eve"),), {"eve": FORGED}, ())


def test_players_own_words_forge_no_line() -> None:
    lines = [describe(PlayerOut("eve", FORGED)) or "", *standings(ENDED)]
    assert all(line.isprintable() for line in lines)
    assert "eve is out: error_reply in movement: error 1: ?[31mno??Standings?" in lines[0]
