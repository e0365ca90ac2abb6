"""My player of Fish. It runs as it is; README.md has the commands to try."""

from croupier_client import Move, Placement, Player, View


class MyPlayer(Player):
    """Goes for the most fish that it can see, and looks no further. Yours can do better."""

    def place(self, view: View) -> Placement:
        """Choose a tile for a penguin: one of view.placements."""

        def worth(placement: Placement) -> int:
            # A position is (row, column). A board gives the fish there, 0 for a hole.
            return view.board[placement.at]

        return max(view.placements, key=worth)

    def move(self, view: View) -> Move:
        """Choose a move: one of view.moves. You get the fish of the tile that you leave."""

        def worth(move: Move) -> int:
            after = view.state.apply(move)  # what the game looks like then; view does not change
            mine = after.player(view.you)
            # view.opponents are the others, each with .fish, .tiles and .penguins.
            # view.time_left_ms() is what is left of your time.
            return mine.fish + view.board[move.end]

        return max(view.moves, key=worth)
