"""What is asked of penguins wherever they come from; `test_notation` has the checks of states."""

from __future__ import annotations

import pytest

from croupier_common.board import Board
from croupier_common.errors import InvalidState
from croupier_common.state_checks import check_penguins


def test_check_penguins_takes_any_that_stand_on_tiles_of_their_own() -> None:
    check_penguins(Board.from_json([[1, 2]]), [[(0, 0)], [(0, 1)], []])
    with pytest.raises(InvalidState, match=r"two penguins stand on \[0,0\]"):
        check_penguins(Board.from_json([[1, 2]]), [[(0, 0)], [(0, 0)]])
