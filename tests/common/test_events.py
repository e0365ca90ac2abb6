"""Events: their JSON, both ways."""

from __future__ import annotations

import json

import pytest

from croupier_common.events import (
    Credited,
    Ejected,
    Ended,
    Event,
    Lifted,
    Moved,
    Placed,
    Skipped,
    Sunk,
    event_from_json,
)
from croupier_common.grid import Position
from croupier_common.outcome import Color, Outcome
from croupier_common.verdict import Phase, Verdict

HERE, THERE = Position(0, 1), Position(2, 1)
EVENTS: list[tuple[Event, str]] = [
    (Placed(Color.RED, HERE), '{"kind":"place","color":"red","at":[0,1]}'),
    (
        Moved(Color.WHITE, HERE, THERE, 3),
        '{"kind":"move","color":"white","from":[0,1],"to":[2,1],"fish":3}',
    ),
    (Skipped(Color.BROWN), '{"kind":"skip","color":"brown"}'),
    (
        Lifted(Color.BLACK, (HERE, THERE), 4),
        '{"kind":"lift","color":"black","at":[[0,1],[2,1]],"fish":4}',
    ),
    (Sunk((HERE,)), '{"kind":"sink","at":[[0,1]]}'),
    (Credited(Color.RED, 2, 5), '{"kind":"credit","color":"red","tiles":2,"fish":5}'),
    (
        Ejected(Color.RED, Verdict.NO_ROOM, Phase.PLACEMENT),
        '{"kind":"eject","color":"red","verdict":"no_room","phase":"placement"}',
    ),
    (
        Ended(Outcome(((Color.WHITE,),), (Color.RED,), {Color.WHITE: 3}, {Color.WHITE: 1})),
        (
            '{"kind":"end","outcome":{"ranking":[["white"]],"ejected":["red"],'
            '"fish":{"white":3},"tiles":{"white":1}}}'
        ),
    ),
]

events = pytest.mark.parametrize(("event", "text"), EVENTS, ids=[e.kind for e, _ in EVENTS])


@events
def test_event_to_json_and_back(event: Event, text: str) -> None:
    assert json.dumps(event.to_json(), separators=(",", ":")) == text
    assert event_from_json(json.loads(text)) == event


@events
def test_event_with_a_field_more_is_read(event: Event, text: str) -> None:
    assert event_from_json(json.loads(text) | {"later": 1}) == event


@events
def test_event_with_a_field_less_is_refused(event: Event, text: str) -> None:
    for name in json.loads(text):
        less = {key: value for key, value in json.loads(text).items() if key != name}
        with pytest.raises(KeyError):
            event_from_json(less)


def test_event_of_an_unknown_kind_is_none() -> None:
    assert event_from_json({"kind": "storm", "at": [0, 1]}) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"kind":"place","color":"green","at":[0,1]}',
        '{"kind":"place","color":"red","at":[0]}',
        '{"kind":"place","color":"red","at":7}',
        '{"kind":"place","color":"red","at":[true,0]}',
        '{"kind":"move","color":"red","from":[0,1],"to":[0,2.0],"fish":1}',
        '{"kind":"sink","at":7}',
        '{"kind":"lift","color":"red","at":[[0,"1"]],"fish":1}',
        '{"kind":"eject","color":"red","verdict":"boredom","phase":"placement"}',
        '{"kind":"eject","color":"red","verdict":"timeout","phase":"lunch"}',
    ],
)
def test_event_with_a_value_that_can_not_be_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        event_from_json(json.loads(text))
