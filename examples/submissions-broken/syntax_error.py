"""Wrong: a colon is missing behind the name of the class, so this is no Python."""

from croupier_client import Player


class Hasty(Player)
    def place(self, view):
        return view.placements[0]

    def move(self, view):
        return view.moves[0]
