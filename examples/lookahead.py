"""A player that looks at the answer to each of its moves, and minds its time.

    penguin play examples/lookahead.py --against greedy,minimax --games 20

A state is worth what one holds and may hope for, less that of the best of the others.
"""

from croupier_client import Color, Move, Placement, Player, State, View


def hope(state: State, color: Color) -> float:
    """What a player may hope for: the fish under its penguins that can move, and a little more."""
    grid, hoped = state.board.grid, 0.0
    for position in state.player(color).penguins:
        reach = grid.reach(grid.tile(position), state.free)  # a set of tiles: a bit for each
        if reach:
            hoped += state.board[position]
            hoped += 0.1 * sum(state.board[other] for other in grid.positions(reach))
    return hoped


def worth(state: State, you: Color) -> float:
    """What a state is worth to a player."""
    values = {player.color: player.fish + hope(state, player.color) for player in state.active}
    return values.pop(you) - max(values.values(), default=0.0)


class Lookahead(Player):
    """Makes the move after which the next player's best answer hurts it least."""

    def place(self, view: View) -> Placement:
        """Place where it is worth most."""
        return max(view.placements, key=lambda act: worth(view.state.apply(act), view.you))

    def move(self, view: View) -> Move:
        """Look at the promising moves first, and stop when half of the time is used up."""

        def promise(move: Move) -> float:
            return worth(view.state.apply(move), view.you)

        moves = sorted(view.moves, key=promise, reverse=True)
        best, most = moves[0], float("-inf")
        for move in moves:
            if view.time_left_ms() < view.budget_ms // 2:
                break
            after = view.state.apply(move)
            if after.is_over or after.turn is view.you:
                least = worth(after, view.you)
            else:
                least = min(worth(after.apply(reply), view.you) for reply in after.legal_actions)
            if least > most:
                best, most = move, least
        return best
