"""States as JSON: the project's own form and the course's.

The own form, which the wire, records and files share (`rules` and `out` only where they are not
known otherwise)::

    {"board": [[1, 2], [3, 0]],
     "players": [{"color": "red", "fish": 3, "tiles": 1, "penguins": [[0, 0]]},
                 {"color": "white", "fish": 0, "tiles": 0, "penguins": [], "ejected": true}],
     "turn": "red", "stage": "movement", "penguins_each": 1,
     "rules": "fish", "out": {"ejected": 0, "islands": 0, "lifted": 0}}

The course's form has the player to move first::

    {"players": [{"color": "red", "score": 3, "places": [[0, 0]]}], "board": [[1, 2], [3, 0]]}

Whether a game could reach what is read is for :mod:`croupier_common.state_checks` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from croupier_common.board import Board
from croupier_common.errors import InvalidState
from croupier_common.grid import Position
from croupier_common.jsontypes import is_array, is_object, is_whole, shown
from croupier_common.outcome import Color
from croupier_common.rules import FISH, Rules
from croupier_common.state import OutOfGame, PlayerState, Stage, State
from croupier_common.state_checks import check_state

__all__ = [
    "state_from_course",
    "state_from_json",
    "state_to_course",
    "state_to_json",
]

_MAX_PENGUINS = 4
_MAX_COUNT = 10**12


def state_to_json(state: State, *, whole: bool = True) -> dict[str, Any]:
    """A state as JSON; without `rules` and `out` unless it is `whole`."""
    players: list[dict[str, Any]] = []
    for player in state.players:
        entry: dict[str, Any] = {
            "color": player.color.value,
            "fish": player.fish,
            "tiles": player.tiles,
            "penguins": [[*position] for position in player.penguins],
        }
        if player.ejected:
            entry["ejected"] = True
        players.append(entry)
    value: dict[str, Any] = {
        "board": state.board.to_json(),
        "players": players,
        "turn": None if state.turn is None else state.turn.value,
        "stage": state.stage.value,
        "penguins_each": state.penguins_each,
    }
    if whole:
        value["rules"] = state.rules.to_json()
        value["out"] = {
            "ejected": state.out.ejected,
            "islands": state.out.islands,
            "lifted": state.out.lifted,
        }
    return value


def state_from_json(value: object, rules: Rules | None = None) -> State:
    """The state that a JSON object says; fields that it doesn't know are passed over.

    Args:
        rules: the rules, where the object has none.

    Raises:
        InvalidState: no game could reach it, with the reason.
        InvalidBoard, InvalidRules: those parts are wrong.
    """
    data = _mapping(value, "a state")
    board = Board.from_json(_get(data, "board"))
    players = tuple(_player(entry, seat) for seat, entry in enumerate(_list(data, "players")))
    stage = _stage(_get(data, "stage"))
    turn = data.get("turn")
    out = _mapping(data.get("out", {}), "out")
    if "rules" in data:
        rules = Rules.from_json(data["rules"])
    state = State(
        board=board,
        players=players,
        turn=None if turn is None else _color(turn, "turn"),
        stage=stage,
        penguins_each=_count(data, "penguins_each", 1, _MAX_PENGUINS),
        rules=rules or FISH,
        out=OutOfGame(
            *(_count(out, cause, 0, _MAX_COUNT, 0) for cause in ("ejected", "islands", "lifted"))
        ),
    )
    check_state(state)
    return state


def state_to_course(state: State) -> dict[str, Any]:
    """A state in the course's form: the active players, whose turn it is first."""
    active = list(state.active)
    first = next((at for at, player in enumerate(active) if player.color is state.turn), 0)
    return {
        "players": [
            {
                "color": player.color.value,
                "score": player.fish,
                "places": [[*position] for position in player.penguins],
            }
            for player in active[first:] + active[:first]
        ],
        "board": state.board.to_json(),
    }


def state_from_course(value: object, penguins_each: int, rules: Rules = FISH) -> State:
    """The state that an object in the course's form says, the first player to act.

    The form tells neither tiles held nor the stage: tiles are 0, and it is placement until each
    player has `penguins_each` penguins. The first player may have no move; see `State.settle`.

    Raises:
        InvalidState, InvalidBoard: as :func:`state_from_json` has it.
    """
    data = _mapping(value, "a state")
    board = Board.from_json(_get(data, "board"))
    players: list[PlayerState] = []
    for seat, entry in enumerate(_list(data, "players")):
        fields = _mapping(entry, f"players[{seat}]")
        where = f"players[{seat}]"
        players.append(
            PlayerState(
                color=_color(_get(fields, "color", where), where),
                fish=_count(fields, "score", 0, _MAX_COUNT, where=where),
                penguins=_positions(fields, "places", where),
            )
        )
    placed = all(len(player.penguins) == penguins_each for player in players)
    state = State(
        board=board,
        players=tuple(players),
        turn=players[0].color if players else None,
        stage=Stage.MOVEMENT if placed else Stage.PLACEMENT,
        penguins_each=penguins_each,
        rules=rules,
    )
    check_state(state, any_turn=True)
    return state


def _player(value: object, seat: int) -> PlayerState:
    where = f"players[{seat}]"
    data = _mapping(value, where)
    ejected = data.get("ejected", False)
    if not isinstance(ejected, bool):
        raise InvalidState(f"{where}.ejected is {shown(ejected, 40)}, not true or false")
    return PlayerState(
        color=_color(_get(data, "color", where), where),
        fish=_count(data, "fish", 0, _MAX_COUNT, where=where),
        tiles=_count(data, "tiles", 0, _MAX_COUNT, where=where),
        penguins=_positions(data, "penguins", where),
        ejected=ejected,
    )


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not is_object(value):
        raise InvalidState(f"{what} is an object, not {type(value).__name__}")
    return value


def _get(data: Mapping[str, object], name: str, where: str = "the state") -> object:
    if name not in data:
        raise InvalidState(f"{where} has no {name!r}")
    return data[name]


def _list(data: Mapping[str, object], name: str, where: str = "the state") -> list[object]:
    value = _get(data, name, where)
    if not is_array(value):
        raise InvalidState(f"{name} of {where} is not an array")
    return value


def _count(
    data: Mapping[str, object],
    name: str,
    least: int,
    most: int,
    default: int | None = None,
    where: str = "the state",
) -> int:
    value = data.get(name, default) if default is not None else _get(data, name, where)
    if not is_whole(value) or not least <= value <= most:
        raise InvalidState(
            f"{name} of {where} is {shown(value, 40)}, not a whole number from {least} to {most}"
        )
    return value


def _color(value: object, where: str) -> Color:
    if isinstance(value, str) and value in list(Color):
        return Color(value)
    raise InvalidState(f"colour {shown(value, 40)} in {where}; there are {', '.join(Color)}")


def _stage(value: object) -> Stage:
    if isinstance(value, str) and value in list(Stage):
        return Stage(value)
    raise InvalidState(f"stage is {shown(value, 40)}; it can be {', '.join(Stage)}")


def _positions(data: Mapping[str, object], name: str, where: str) -> tuple[Position, ...]:
    found: list[Position] = []
    for value in _list(data, name, where):
        position = Position.from_json(value)
        if position is None:
            raise InvalidState(f"{shown(value, 40)} in {name} of {where} is not [row, column]")
        found.append(position)
    return tuple(found)
