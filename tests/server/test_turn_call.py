"""A turn's request as text is what its model dumps, byte for byte."""

from __future__ import annotations

import pytest

from croupier_common.board import Board
from croupier_common.game import Game, Request
from croupier_common.messages import LastAnswer, parse_from_server
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_common.state_text import StateWriter
from croupier_common.strategies import make
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.turn_call import TurnCall

BOARD = Board.from_json([[1, 1, 3, 1], [1, 1, 0, 5], [1, 1, 2, 1], [1, 1, 1, 1], [1, 2, 1, 1]])
LAST: LastAnswer = {"think_ms": 12, "stall_ms": 0, "verdict": "ok", "rtt_ms": 1}


def played(game_id: str, rules: Rules) -> list[Request]:
    """All requests of a game in which one of three players is ejected on the way."""
    game = Game(game_id, BOARD, (Color.RED, Color.WHITE, Color.BROWN), rules)
    game.begin()
    requests: list[Request] = []
    while (request := game.request) is not None:
        requests.append(request)
        if len(requests) == 11:
            game.fault(request.color, Fault(Verdict.TIMEOUT, Phase.MOVEMENT, "late"))
        else:
            game.act(make("random", seed=3).choose(request.state))
    return requests


@pytest.mark.parametrize("rules", [FISH, CLASSIC])
@pytest.mark.parametrize("game_id", ["1.1", 'an "odd" \\ näme'])
@pytest.mark.parametrize("legal_actions", [False, True])
@pytest.mark.parametrize(("bank_ms", "last"), [(None, None), (0, None), (None, LAST), (70, LAST)])
def test_turn_call_text_is_its_models_dump(
    rules: Rules,
    game_id: str,
    legal_actions: bool,
    bank_ms: int | None,
    last: LastAnswer | None,
) -> None:
    writer = StateWriter()
    for request in played(game_id, rules):
        call = TurnCall(request, 1_000, bank_ms, last, legal_actions, writer)
        assert call.text() == call.model().model_dump_json(exclude_none=True)
        assert call.text() == call.text()  # asked again after a reconnect
        assert parse_from_server(call.text()) == call.model()
        assert (call.id, call.METHOD) == (request.id, request.method)
