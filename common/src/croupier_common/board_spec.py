"""How a croupier builds a board: the spec, and the building, decided by a seed alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from croupier_common.board import MAX_FISH, Board
from croupier_common.errors import InvalidBoard
from croupier_common.grid import Grid, Position
from croupier_common.jsontypes import is_array, is_object, is_whole, shown
from croupier_common.rng import Draws
from croupier_common.rules import MIN_PLAYERS, Rules
from croupier_common.state import check_room

__all__ = ["CLASSIC_BAG", "CLASSIC_BOARD", "MAX_SIDE", "BoardSpec"]

MAX_SIDE: Final = 40
"""The most rows and the most columns of a board that a spec asks for."""

CLASSIC_BAG: Final[Mapping[int, int]] = {1: 30, 2: 20, 3: 10}
"""Fish -> how many tiles of the boxed game have it."""

_SYMMETRIES: Final = ("none", "point", "mirror")
_KEYS: Final = ("rows", "columns", "holes", "fish", "bag", "one_fish", "symmetry", "tiles")

Orbit = tuple[int, ...]
"""Tiles that the symmetry makes alike: one tile, or a pair."""


@dataclass(frozen=True, slots=True)
class BoardSpec:
    """What a board must be like; the rest is drawn.

    Attributes:
        holes: how many, or where.
        fish: of each tile: one number, a range ``(least, most)``, or weights by number.
        bag: exactly so many tiles of each number (instead of `fish`), shuffled.
        one_fish: at least so many tiles have exactly one fish.
        symmetry: ``none``; ``point`` (turned by 180 degrees it is the same; rows must be even);
            ``mirror`` (upside down it is the same; rows must be odd).
        tiles: the very board, instead of all the above.

    Raises:
        InvalidBoard: a number is out of range or the wishes contradict each other, with the
            arithmetic.
    """

    rows: int = 5
    columns: int = 5
    holes: int | tuple[Position, ...] = 0
    fish: int | tuple[int, int] | Mapping[int, int] = 2
    bag: Mapping[int, int] | None = None
    one_fish: int = 0
    symmetry: str = "none"
    tiles: Board | None = None
    _orbits: tuple[Orbit, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.tiles is not None:
            if self.tiles.rows > MAX_SIDE or self.tiles.columns > MAX_SIDE:
                raise InvalidBoard(
                    f"board.tiles is {self.tiles.rows} x {self.tiles.columns}; at most "
                    f"{MAX_SIDE} x {MAX_SIDE} are allowed"
                )
            return
        for name in ("rows", "columns"):
            _whole(name, getattr(self, name), 1, MAX_SIDE)
        if self.symmetry not in _SYMMETRIES:
            raise InvalidBoard(
                f"board.symmetry is {self.symmetry!r:.40}; it can be {', '.join(_SYMMETRIES)}"
            )
        if (self.symmetry == "point" and self.rows % 2) or (
            self.symmetry == "mirror" and not self.rows % 2
        ):
            even = "even" if self.symmetry == "point" else "odd"
            raise InvalidBoard(
                f"board.symmetry = {self.symmetry!r} needs an {even} number of rows, since odd "
                f"rows are shifted by half a tile; board.rows is {self.rows}"
            )
        object.__setattr__(self, "_orbits", tuple(self._find_orbits()))
        self._check_holes()
        self._check_fish()

    # -- checks

    def _check_holes(self) -> None:
        spots = self.rows * self.columns
        if isinstance(self.holes, int):
            _whole("holes", self.holes, 0, spots)
            if self.holes % 2 and not any(len(orbit) == 1 for orbit in self._orbits):
                raise InvalidBoard(
                    f"board.holes is {self.holes}, and a board with {self.symmetry} symmetry of "
                    f"{self.rows} rows has its tiles in pairs only: use an even number"
                )
            return
        given: set[int] = set()
        grid = Grid.of(self.rows, self.columns)
        for hole in self.holes:
            if hole not in grid:
                raise InvalidBoard(
                    f"board.holes has {hole!s}, outside the board of {self.rows} "
                    f"rows and {self.columns} columns"
                )
            given.add(grid.tile(hole))
        for orbit in self._orbits:
            if len(given.intersection(orbit)) == 1 and len(orbit) == 2:
                here, there = grid.positions(sum(1 << tile for tile in orbit))
                raise InvalidBoard(
                    f"board.holes has only one of {here} and {there}, which {self.symmetry} "
                    "symmetry makes alike"
                )

    def _check_fish(self) -> None:
        tiles = self.rows * self.columns - self._hole_count()
        _whole("one_fish", self.one_fish, 0, tiles, f"there are {tiles} tiles")
        if self.bag is not None:
            for number, count in self.bag.items():
                _whole("bag", number, 1, MAX_FISH)
                _whole(f"bag of {number} fish", count, 0, tiles, f"there are {tiles} tiles")
            if sum(self.bag.values()) != tiles:
                raise InvalidBoard(
                    f"board.bag has {sum(self.bag.values())} tiles, and the board has "
                    f"{self.rows} x {self.columns} - {self._hole_count()} holes = {tiles}"
                )
            if self.bag.get(1, 0) < self.one_fish:
                raise InvalidBoard(
                    f"board.one_fish is {self.one_fish}, and board.bag has "
                    f"{self.bag.get(1, 0)} tiles with one fish"
                )
            self._check_bag_pairs(self.bag)
            return
        weights = self._weights()
        if not weights or not any(weights.values()):
            raise InvalidBoard("board.fish has no number with a weight above 0")
        for number, weight in weights.items():
            _whole("fish", number, 1, MAX_FISH)
            _whole(f"weight of {number} fish", weight, 0, MAX_FISH)

    def _check_bag_pairs(self, bag: Mapping[int, int]) -> None:
        """Whether a bag can be dealt to pairs of tiles and the single ones that are left."""
        if self.symmetry == "none":
            return
        odd = [number for number, count in bag.items() if count % 2]
        grid = Grid.of(self.rows, self.columns)
        holes: set[int] = set()
        if not isinstance(self.holes, int):
            holes.update(grid.tile(position) for position in self.holes)
        single = sum(len(orbit) == 1 and orbit[0] not in holes for orbit in self._orbits)
        if len(odd) > single:
            raise InvalidBoard(
                f"board.bag has an odd number of tiles with {odd} fish, and {self.symmetry} "
                f"symmetry leaves {single} tiles without a partner"
            )

    def check_room(self, rules: Rules, players: int) -> None:
        """Check that every board of this spec has room, for any number of players up to this.

        Raises:
            InvalidBoard: it has not, with the arithmetic.
        """
        board = self.build(0, rules=rules, players=players)
        for number in range(MIN_PLAYERS, players + 1):
            check_room(board, rules, number)

    # -- building

    def build(
        self, seed: int, *labels: str | int, rules: Rules | None = None, players: int = 0
    ) -> Board:
        """The board of a seed and labels (the game's id); always the same one, anywhere.

        Args:
            rules, players: where given and the rules place on one-fish tiles only, at least the
                needed number of these is guaranteed beside `one_fish`, where `fish` is drawn.
        """
        if self.tiles is not None:
            return self.tiles
        draws = Draws(seed, "board", *labels)
        orbits = list(self._orbits)
        draws.shuffle(orbits)
        holes = set(self._draw_holes(orbits))
        standing = [orbit for orbit in orbits if orbit[0] not in holes]
        fish = [0] * (self.rows * self.columns)
        ones = self.one_fish
        if rules is not None and rules.placement == "one_fish" and self.bag is None:
            need = max((n * (6 - n) for n in range(MIN_PLAYERS, players + 1)), default=0)
            ones = max(ones, min(need, sum(map(len, standing))))
        numbers = (
            self._deal(draws, standing, self.bag)
            if self.bag is not None
            else self._draw(draws, standing, ones)
        )
        for orbit, number in zip(standing, numbers, strict=True):
            for tile in orbit:
                fish[tile] = number
        return Board(self.rows, self.columns, tuple(fish))

    def _find_orbits(self) -> Iterator[Orbit]:
        last_row, last_column = self.rows - 1, self.columns - 1
        for tile in range(self.rows * self.columns):
            row, column = divmod(tile, self.columns)
            partner = tile
            if self.symmetry == "point":
                partner = (last_row - row) * self.columns + last_column - column
            elif self.symmetry == "mirror":
                partner = (last_row - row) * self.columns + column
            if partner >= tile:
                yield (tile,) if partner == tile else (tile, partner)

    def _hole_count(self) -> int:
        return self.holes if isinstance(self.holes, int) else len(set(self.holes))

    def _draw_holes(self, orbits: Sequence[Orbit]) -> list[int]:
        """The holes' tiles: the first orbits of the shuffled ones that make up the number."""
        if not isinstance(self.holes, int):
            grid = Grid.of(self.rows, self.columns)
            return [grid.tile(position) for position in self.holes]
        singles = [orbit for orbit in orbits if len(orbit) == 1]
        pairs = [orbit for orbit in orbits if len(orbit) == 2]
        # What the bag has an odd number of can't go to pairs, so as many single tiles must stand.
        kept = set(singles[: self._loose_in_bag()])
        drawn: list[Orbit] = []
        left = self.holes
        for orbit in orbits:
            if len(orbit) <= left and orbit not in kept:
                drawn.append(orbit)
                left -= len(orbit)
        if left:  # one is missing and only pairs are left: a single one makes way for a pair
            drawn.remove(next(orbit for orbit in drawn if len(orbit) == 1))
            drawn.append(next(pair for pair in pairs if pair not in drawn))
        return [tile for orbit in drawn for tile in orbit]

    def _loose_in_bag(self) -> int:
        return sum(count % 2 for count in self.bag.values()) if self.bag is not None else 0

    def _weights(self) -> Mapping[int, int]:
        if isinstance(self.fish, int):
            return {self.fish: 1}
        if isinstance(self.fish, tuple):
            least, most = self.fish
            _whole("fish", least, 1, MAX_FISH)
            _whole("fish", most, least, min(MAX_FISH, least + 999))
            return dict.fromkeys(range(least, most + 1), 1)
        return dict(sorted(self.fish.items()))  # equal specs build equal boards

    def _draw(self, draws: Draws, standing: Sequence[Orbit], ones: int) -> list[int]:
        """A number for each orbit: ones first, as many as are guaranteed, then as drawn.

        The orbits are in random order already, so which of them get the ones is random.
        """
        weights = self._weights()
        numbers, chances = list(weights), list(weights.values())
        drawn: list[int] = []
        for orbit in standing:
            if ones > 0:
                drawn.append(1)
                ones -= len(orbit)
            else:
                drawn.append(numbers[draws.weighted(chances)])
        return drawn

    def _deal(
        self, draws: Draws, standing: Sequence[Orbit], bag: Mapping[int, int]
    ) -> Iterator[int]:
        """A number for each orbit so that the tiles together are exactly the bag."""
        counts = sorted(bag.items())  # equal specs build equal boards
        pairs = [number for number, count in counts for _ in range(count // 2)]
        loose = [number for number, count in counts if count % 2]
        draws.shuffle(pairs)
        singles = sum(len(orbit) == 1 for orbit in standing)
        while len(loose) < singles:
            number = pairs.pop()
            loose += [number, number]
        draws.shuffle(loose)
        for orbit in standing:
            yield (loose if len(orbit) == 1 else pairs).pop()

    # -- JSON and TOML

    def to_json(self) -> dict[str, Any]:
        """The spec as it stands in a TOML file or a record's header."""
        if self.tiles is not None:
            return {"tiles": self.tiles.to_json()}
        value: dict[str, Any] = {"rows": self.rows, "columns": self.columns}
        value["holes"] = (
            self.holes if isinstance(self.holes, int) else [[*hole] for hole in self.holes]
        )
        if self.bag is not None:
            value["bag"] = _by_text(self.bag)
        elif isinstance(self.fish, int):
            value["fish"] = self.fish
        elif isinstance(self.fish, tuple):
            value["fish"] = list(self.fish)
        else:
            value["fish"] = _by_text(self.fish)
        value["one_fish"] = self.one_fish
        value["symmetry"] = self.symmetry
        return value

    @classmethod
    def from_text(cls, text: str) -> BoardSpec:
        """The spec from a command line: ``classic``, ``5x5``, ``6x5,holes=4,fish=1-5``.

        Beside rows x columns there can be ``holes``, ``fish`` (a number or a range),
        ``one_fish`` and ``symmetry``.

        Raises:
            InvalidBoard: it is not of that form, or the board can't be.
        """
        if text == "classic":
            return CLASSIC_BOARD
        size, *options = text.split(",")
        sides = size.split("x")
        fields: dict[str, object] = {}
        if len(sides) == 2 and all(map(_is_number, sides)):
            fields = {"rows": int(sides[0]), "columns": int(sides[1])}
        for option in options:
            name, _, value = option.partition("=")
            ends = value.split("-")
            if name in fields:
                fields.clear()
                break
            if name == "symmetry":
                fields[name] = value
            elif name in {"holes", "fish", "one_fish"} and all(map(_is_number, ends)):
                fields[name] = int(value) if len(ends) == 1 else [int(end) for end in ends]
            else:
                fields.clear()
                break
        if "rows" not in fields:
            raise InvalidBoard(
                f"board {text!r:.80}: it is 'classic' or like '5x5' or "
                "'6x5,holes=4,fish=1-5,one_fish=8,symmetry=point', each option at most once"
            )
        return cls.from_json(fields)

    @classmethod
    def from_json(cls, value: object) -> BoardSpec:
        """The spec from a table: the fields of this class by name, or ``"classic"``.

        ``fish = 2``, ``fish = [1, 5]`` and ``fish = {1 = 3, 2 = 1}`` (weights) are all right;
        ``holes = 3`` or ``holes = [[0, 1]]``; ``bag = {1 = 30}`` or ``bag = "classic"``.

        Raises:
            InvalidBoard: an unknown field, or a value that can't be.
        """
        if value == "classic":
            return CLASSIC_BOARD
        if not is_object(value):
            raise InvalidBoard(f"board is a table or 'classic', not {shown(value, 40)}")
        for name in value:
            if name not in _KEYS:
                raise InvalidBoard(f"no field {name!r:.40} in board; there are {', '.join(_KEYS)}")
        if "tiles" in value:
            if len(value) > 1:
                raise InvalidBoard("board.tiles is the whole board; give nothing beside it")
            return cls(tiles=Board.from_json(value["tiles"]))
        if "bag" in value and "fish" in value:
            raise InvalidBoard("board.bag and board.fish exclude each other")
        symmetry = value.get("symmetry", "none")
        return cls(
            rows=_number("rows", value.get("rows", 5)),
            columns=_number("columns", value.get("columns", 5)),
            holes=_holes(value.get("holes", 0)),
            fish=_fish(value.get("fish", 2)),
            bag=_bag(value["bag"]) if "bag" in value else None,
            one_fish=_number("one_fish", value.get("one_fish", 0)),
            symmetry=symmetry if isinstance(symmetry, str) else shown(symmetry, 40),
        )


def _whole(name: str, value: int, least: int, most: int, why: str = "") -> None:
    if not is_whole(value) or not least <= value <= most:
        raise InvalidBoard(
            f"board.{name} is {shown(value, 40)}; it must be a whole number from {least} to {most}"
            + (f" ({why})" if why else "")
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _number(name: str, value: object) -> int:
    if not is_whole(value):
        raise InvalidBoard(f"board.{name} is {shown(value, 40)}; it must be a whole number")
    return value


def _holes(value: object) -> int | tuple[Position, ...]:
    if is_whole(value):
        return value
    if is_array(value):
        found = [position for position in map(Position.from_json, value) if position is not None]
        if len(found) == len(value):
            return tuple(found)
    raise InvalidBoard(
        f"board.holes is {shown(value, 40)}; it is a number or an array of positions"
    )


def _fish(value: object) -> int | tuple[int, int] | Mapping[int, int]:
    if is_whole(value):
        return value
    if (ends := Position.from_json(value)) is not None:  # two whole numbers, here a range
        return ends[0], ends[1]
    if is_object(value):
        return _numbers("fish", value)
    raise InvalidBoard(
        f"board.fish is {shown(value, 40)}; it is a number, a range [least, most], "
        "or weights by number"
    )


def _bag(value: object) -> Mapping[int, int]:
    if value == "classic":
        return CLASSIC_BAG
    if is_object(value):
        return _numbers("bag", value)
    raise InvalidBoard(
        f"board.bag is {shown(value, 40)}; it is 'classic' or a table like {{1 = 30, 2 = 20}}"
    )


def _numbers(name: str, value: Mapping[str, object]) -> Mapping[int, int]:
    """A table of counts by number, whose keys are text in JSON and TOML."""
    numbers: dict[int, int] = {}
    for key, count in value.items():
        if not _is_number(key) or key.startswith("0"):
            raise InvalidBoard(f"board.{name} has {key!r:.40}; its keys are numbers of fish")
        numbers[int(key)] = _number(f"{name} of {key} fish", count)
    return dict(sorted(numbers.items()))


def _by_text(numbers: Mapping[int, int]) -> dict[str, int]:
    return {str(number): count for number, count in numbers.items()}


CLASSIC_BOARD: Final = BoardSpec(rows=15, columns=4, bag=CLASSIC_BAG)
"""The board of the boxed game: eight lines of 7 and 8 tiles, turned by 90 degrees."""
