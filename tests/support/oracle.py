"""The rules of Fish a second time, slow and literal, for the engine to be held against.

Positions are tuples, boards are dicts, nothing is shared with the engine but the JSON in which both
tell their state and their events. The geometry is that of the picture: a tile's centre lies at
``x = 2 * column + row % 2`` and ``y = row``, and a step is a step between centres.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Spot = tuple[int, int]
Told = list[dict[str, Any]]

STEPS = {"N": (0, -2), "NE": (1, -1), "SE": (1, 1), "S": (0, 2), "SW": (-1, 1), "NW": (-1, -1)}


def step(spot: Spot, direction: str) -> Spot:
    """The spot next to another, on the board or not."""
    row, column = spot
    x, y = 2 * column + row % 2, row
    x, y = x + STEPS[direction][0], y + STEPS[direction][1]
    return y, (x - y % 2) // 2


def neighbours(spot: Spot) -> list[Spot]:
    """The six spots around one, on the board or not, in the order of directions."""
    return [step(spot, direction) for direction in STEPS]


@dataclass
class Entrant:
    """A player."""

    color: str
    fish: int = 0
    tiles: int = 0
    penguins: list[Spot] = field(default_factory=list[Spot])
    ejected: bool = False


class Oracle:
    """A game, changed in place. Every change gives the events that it made, as JSON."""

    def __init__(
        self,
        board: Sequence[Sequence[int]],
        colors: Sequence[str],
        rules: Mapping[str, str],
        absent: Sequence[str] = (),
    ) -> None:
        self.rows = len(board)
        self.columns = max(len(row) for row in board)
        self.board = {
            (row, column): fish
            for row, line in enumerate(board)
            for column, fish in enumerate(line)
            if fish
        }
        self.rules = dict(rules)
        self.players = [Entrant(color, ejected=color in absent) for color in colors]
        present = len(self.active())
        self.each = 6 - present if present > 1 else 4
        self.queue = list(self._placement_order())
        self.out = {"ejected": 0, "islands": 0, "lifted": 0}
        self.credited = 0
        self.events: Told = []
        self.turn: int | None = None
        self.stage = "over"
        if present > 1:
            self.stage = "placement"
            self._go_on(0)

    def _placement_order(self) -> Iterator[int]:
        seats = list(range(len(self.players)))
        for number in range(self.each):
            snake = self.rules["placement_order"] == "snake"
            yield from reversed(seats) if snake and number % 2 == 1 else seats

    # -- questions

    def active(self) -> list[Entrant]:
        """Who was not ejected."""
        return [player for player in self.players if not player.ejected]

    def taken(self) -> list[Spot]:
        """Where penguins stand, an ejected player's too."""
        return [spot for player in self.players for spot in player.penguins]

    def free(self, spot: Spot) -> bool:
        """Whether a penguin could go to a spot, seen from next to it."""
        return spot in self.board and spot not in self.taken()

    def reach(self, spot: Spot) -> list[Spot]:
        """Where a penguin could go to from a spot in one move."""
        found: list[Spot] = []
        for direction in STEPS:
            ahead = step(spot, direction)
            while self.free(ahead):
                found.append(ahead)
                ahead = step(ahead, direction)
        return found

    def stuck(self, spot: Spot) -> bool:
        """Whether a penguin on a spot has nowhere to go to."""
        return not any(self.free(spot) for spot in neighbours(spot))

    def can_move(self, player: Entrant) -> bool:
        """Whether a player has a move."""
        return not player.ejected and not all(self.stuck(spot) for spot in player.penguins)

    def placeable(self) -> list[Spot]:
        """Where a penguin may be placed."""
        spots = [spot for spot in sorted(self.board) if self.free(spot)]
        if self.rules["placement"] == "one_fish":
            spots = [spot for spot in spots if self.board[spot] == 1]
        return spots

    def legal(self) -> list[Any]:
        """The legal actions as JSON, in canonical order."""
        if self.turn is None:
            return []
        if self.stage == "placement":
            return [list(spot) for spot in self.placeable()]
        moves = [
            (start, end) for start in self.players[self.turn].penguins for end in self.reach(start)
        ]
        return [[list(start), list(end)] for start, end in sorted(moves)]

    def fish_anywhere(self) -> int:
        """All fish that there are: on the board, held, and out of the game."""
        on_board = sum(self.board.values()) - self.credited
        held = sum(player.fish for player in self.players)
        return on_board + held + sum(self.out.values())

    def ranking(self) -> list[list[str]]:
        """First to last, in groups of equals."""

        def merit(player: Entrant) -> tuple[int, int]:
            return player.fish, player.tiles if self.rules["tie_break"] == "tiles" else 0

        return [
            [player.color for player in self.active() if merit(player) == equal]
            for equal in sorted({merit(player) for player in self.active()}, reverse=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """The state, as the engine tells it too, without its rules."""
        board = [
            [self.board.get((row, column), 0) for column in range(self.columns)]
            for row in range(self.rows)
        ]
        players: Told = []
        for player in self.players:
            told: dict[str, Any] = {
                "color": player.color,
                "fish": player.fish,
                "tiles": player.tiles,
                "penguins": [list(spot) for spot in player.penguins],
            }
            players.append(told | {"ejected": True} if player.ejected else told)
        return {
            "board": board,
            "players": players,
            "turn": None if self.turn is None else self.players[self.turn].color,
            "stage": self.stage,
            "penguins_each": self.each,
            "out": dict(self.out),
        }

    # -- changes

    def act(self, action: Any) -> Told:
        """Whose turn it is does something legal."""
        assert action in self.legal()
        assert self.turn is not None
        self.events = []
        player = self.players[self.turn]
        if self.stage == "placement":
            self._place(player, tuple(action))
        else:
            self._move(player, tuple(action[0]), tuple(action[1]))
        self._go_on(self.turn + 1)
        return self.events

    def _place(self, player: Entrant, spot: Spot) -> None:
        assert self.queue.pop(0) == self.turn
        player.penguins.append(spot)
        self._tell("place", player, at=list(spot))

    def _move(self, player: Entrant, start: Spot, end: Spot) -> None:
        fish = self.board.pop(start)
        player.fish += fish
        player.tiles += 1
        player.penguins[player.penguins.index(start)] = end
        self.events.append(
            {
                "kind": "move",
                "color": player.color,
                "from": list(start),
                "to": list(end),
                "fish": fish,
            }
        )

    def eject(self, color: str, verdict: str) -> Told:
        """A player is out, whoever's turn it is."""
        self.events = []
        [seat] = [seat for seat, player in enumerate(self.players) if player.color == color]
        turn = self.turn
        assert turn is not None
        self._eject(self.players[seat], verdict)
        self._go_on(turn + 1 if seat == turn else turn)
        return self.events

    def _eject(self, player: Entrant, verdict: str) -> None:
        player.ejected = True
        self.out["ejected"] += player.fish
        player.fish = player.tiles = 0
        if self.rules["ejected"] == "with_tiles":
            self.out["ejected"] += sum(self.board.pop(spot) for spot in player.penguins)
        if self.rules["ejected"] != "leave_blocking":
            player.penguins = []
        phase = "placement" if self.stage == "placement" else "movement"
        self._tell("eject", player, verdict=verdict, phase=phase)

    def _go_on(self, seat: int) -> None:
        if self.stage == "placement" and not self._someone_places():
            if not self.active():
                self._end()
                return
            self.stage = "movement"
            seat = 0
        if self.stage == "movement":
            self._clear()
            self._someone_moves(seat)

    def _someone_places(self) -> bool:
        while self.queue:
            self.turn = self.queue[0]
            player = self.players[self.turn]
            if not player.ejected:
                if self.placeable():
                    return True
                self._eject(player, "no_room")
            self.queue.pop(0)
        return False

    def _someone_moves(self, seat: int) -> None:
        while any(self.can_move(player) for player in self.players):
            self.turn = seat % len(self.players)
            player = self.players[self.turn]
            if self.can_move(player):
                return
            if player.penguins and not player.ejected:
                self._tell("skip", player)
                if self.rules["lift"] == "player_turn":
                    self._lift(player, player.penguins)
                self._clear()
            seat += 1
        self._end()

    def _clear(self) -> None:
        if self.rules["lift"] == "penguin":
            for player in self.active():
                self._lift(player, [spot for spot in player.penguins if self.stuck(spot)])
        if self.rules["islands"] == "remove":
            lost = sorted(set(self.board) - self._within_reach() - set(self.taken()))
            self.out["islands"] += sum(self.board.pop(spot) for spot in lost)
            if lost:
                self.events.append({"kind": "sink", "at": [list(spot) for spot in lost]})

    def _within_reach(self) -> set[Spot]:
        found: set[Spot] = set()
        waiting = [spot for player in self.active() for spot in player.penguins]
        while waiting:
            for spot in neighbours(waiting.pop()):
                if self.free(spot) and spot not in found:
                    found.add(spot)
                    waiting.append(spot)
        return found

    def _lift(self, player: Entrant, spots: Sequence[Spot]) -> None:
        if not spots:
            return
        fish = sum(self.board.pop(spot) for spot in spots)
        owned = self.rules["last_tile"] == "owner"
        self._tell("lift", player, at=[list(spot) for spot in spots], fish=fish if owned else 0)
        if owned:
            player.fish += fish
            player.tiles += len(spots)
        else:
            self.out["lifted"] += fish
        player.penguins = [spot for spot in player.penguins if spot not in spots]

    def _end(self) -> None:
        self.stage = "over"
        self.turn = None
        for player in self.active():
            if self.rules["lift"] != "never":
                self._lift(player, player.penguins)
            elif self.rules["last_tile"] == "owner" and player.penguins:
                fish = sum(self.board[spot] for spot in player.penguins)
                player.fish += fish
                player.tiles += len(player.penguins)
                self.credited += fish
                self._tell("credit", player, tiles=len(player.penguins), fish=fish)

    def _tell(self, kind: str, player: Entrant, **more: Any) -> None:
        self.events.append({"kind": kind, "color": player.color, **more})
