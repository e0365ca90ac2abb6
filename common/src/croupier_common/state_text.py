"""The states of a game as JSON text, one after the other: for requests, which every turn needs.

The text is that of :func:`~croupier_common.notation.state_to_json`, in a fraction of the time: of
the board only the rows are written anew in which a tile has gone, of the players only who has
moved, and no value is made of a state that knows itself in integers.
"""

from __future__ import annotations

from croupier_common.draft import Draft
from croupier_common.outcome import Color
from croupier_common.state import State

__all__ = ["StateWriter"]


class StateWriter:
    """Writes the states of one game; give it no other game's."""

    __slots__ = (
        "_columns",
        "_fish",
        "_keys",
        "_players",
        "_present",
        "_row_form",
        "_rows",
        "_spots",
    )

    def __init__(self) -> None:
        self._present = -1  # no state has been written yet
        self._fish: list[int] = []
        self._columns = 0
        self._row_form = ""
        self._rows: list[str] = []
        self._spots: list[str] = []
        self._players: list[str] = []
        self._keys: list[tuple[int, ...]] = []  # what the players' texts were made from

    def text(self, state: State) -> str:
        """A state as JSON text, without rules and fish out of the game."""
        draft = state.draft()
        if self._present < 0:
            self._begin(draft)
        gone = self._present ^ draft.present  # in a game, tiles only ever go
        while gone:
            tile = gone.bit_length() - 1
            gone ^= 1 << tile
            self._take(tile)
        kernel = draft.kernel
        for seat, penguins in enumerate(kernel.penguins):
            key = (kernel.held[seat], draft.tiles[seat], draft.ejected[seat], *penguins)
            if key != self._keys[seat]:
                self._keys[seat] = key
                self._players[seat] = self._player(state, draft, seat)
        # joined, since formatting a member of an enumeration takes its time
        return "".join(
            [
                '{"board":[',
                ",".join(self._rows),
                '],"players":[',
                ",".join(self._players),
                '],"turn":',
                "null" if state.turn is None else '"' + state.turn + '"',
                ',"stage":"',
                state.stage,
                '","penguins_each":',
                str(draft.penguins_each),
                "}",
            ]
        )

    def _begin(self, draft: Draft) -> None:
        board = draft.make_board()
        self._present = board.mask
        self._fish = list(board.fish)
        self._columns = board.columns
        self._row_form = f"[{','.join(['%d'] * board.columns)}]"
        self._rows = [self._row(row) for row in range(board.rows)]
        self._players = [""] * len(draft.colors)
        self._keys = [()] * len(draft.colors)
        self._spots = [
            f"[{row},{column}]" for row in range(board.rows) for column in range(board.columns)
        ]

    def _take(self, tile: int) -> None:
        self._present ^= 1 << tile
        self._fish[tile] = 0
        row = tile // self._columns
        self._rows[row] = self._row(row)

    def _row(self, row: int) -> str:
        at = row * self._columns
        return self._row_form % tuple(self._fish[at : at + self._columns])

    def _player(self, state: State, draft: Draft, seat: int) -> str:
        color = draft.colors[seat]
        if draft.ejected[seat]:
            return self._ejected(state, color)
        spots = self._spots
        penguins = ",".join([spots[tile] for tile in draft.kernel.penguins[seat]])
        return (
            f'{{"color":"{color}","fish":{draft.kernel.held[seat]},"tiles":{draft.tiles[seat]},'
            f'"penguins":[{penguins}]}}'
        )

    def _ejected(self, state: State, color: Color) -> str:
        """A player that is out: the integers tell nothing of penguins that it left behind."""
        penguins = [f"[{row},{column}]" for row, column in state.player(color).penguins]
        return (
            f'{{"color":"{color}","fish":0,"tiles":0,"penguins":[{",".join(penguins)}],'
            '"ejected":true}'
        )
