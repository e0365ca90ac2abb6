"""The players in `examples/` play."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from croupier_client.loader import load
from croupier_client.local import Match
from croupier_common.board_spec import BoardSpec

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


KIT = "from croupier_client import"


@pytest.mark.parametrize(
    "example",
    [path.name for path in EXAMPLES.glob("*.py") if KIT in path.read_text(encoding="utf-8")],
)
def test_example_plays_a_game_to_its_end(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    players = [load(str(EXAMPLES / example)), load("greedy")]
    match = Match(players, spec=BoardSpec(rows=4, columns=3, fish=(1, 3)), warn=pytest.fail)
    game = match.play()
    assert game.outcome is not None
    assert game.outcome.ejected == ()
