"""A submission that is one file: a player of the kit. Nothing else is needed, not even player.toml.

penguin play examples/submissions/python_kit.py --against greedy,random
penguin check examples/submissions/python_kit.py
"""

from croupier_client import Color, Move, Placement, Player, State, View


def reach(state: State, color: Color) -> int:
    """How many tiles a player's penguins can reach in one move, all together."""
    grid = state.board.grid
    penguins = state.player(color).penguins
    return sum(grid.reach(grid.tile(at), state.free).bit_count() for at in penguins)


class Roomy(Player):
    """Takes fish, keeps room for itself, and leaves little to the others."""

    def place(self, view: View) -> Placement:
        """Place on many fish, and with many more within reach."""

        def worth(placement: Placement) -> int:
            grid, free = view.board.grid, view.state.free
            tiles = grid.reach(grid.tile(placement.at), free)
            return 8 * view.board[placement.at] + sum(
                view.board[at] for at in grid.positions(tiles)
            )

        return max(view.placements, key=worth)

    def move(self, view: View) -> Move:
        """Look at what each move leads to; view.moves has all that are legal."""

        def worth(move: Move) -> float:
            after = view.state.apply(move)
            room = {player.color: reach(after, player.color) for player in after.active}
            mine = room.pop(view.you)
            fish = view.board[move.start] + view.board[move.end]
            return fish + 0.2 * mine - 0.1 * max(room.values(), default=0)

        return max(view.moves, key=worth)
