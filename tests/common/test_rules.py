"""Rules: presets, options by name, and pairs that are refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given

from croupier_common.errors import InvalidRules
from croupier_common.rules import CLASSIC, FISH, PRESETS, Rules, penguins_for
from support.drawn import OPTIONS, options


def test_presets_are_the_two_games() -> None:
    assert asdict(FISH) == {
        "placement": "any",
        "lift": "never",
        "last_tile": "nobody",
        "tie_break": "none",
        "islands": "keep",
        "ejected": "penguins_off",
        "turn_order": "by_age",
        "placement_order": "rounds",
    }
    assert asdict(CLASSIC) == {
        "placement": "one_fish",
        "lift": "player_turn",
        "last_tile": "owner",
        "tie_break": "tiles",
        "islands": "remove",
        "ejected": "with_tiles",
        "turn_order": "youngest_then_seats",
        "placement_order": "rounds",
    }
    assert Rules() == FISH
    assert {"fish": FISH, "classic": CLASSIC} == PRESETS


@given(options())
def test_rules_to_json_and_back_are_equal(drawn: dict[str, str]) -> None:
    rules = Rules(**drawn)
    assert Rules.from_json(json.loads(json.dumps(rules.to_json()))) == rules


@pytest.mark.parametrize("preset", ["fish", "classic"])
def test_rules_of_a_preset_are_told_by_its_name(preset: str) -> None:
    assert PRESETS[preset].to_json() == preset
    assert Rules.from_json(preset) == PRESETS[preset]


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        ({}, FISH),
        ({"preset": "classic"}, CLASSIC),
        ({"lift": "end"}, Rules(lift="end")),
        ({"preset": "fish", "turn_order": "given"}, Rules(turn_order="given")),
        (
            {"preset": "classic", "islands": "keep", "lift": "penguin"},
            Rules(**(asdict(CLASSIC) | {"islands": "keep", "lift": "penguin"})),
        ),
    ],
)
def test_rules_from_json_are_a_preset_and_what_differs(value: Any, rules: Rules) -> None:
    assert Rules.from_json(value) == rules


@pytest.mark.parametrize("lift", ["penguin", "player_turn"])
def test_rules_freeing_tiles_and_lifting_early_are_refused(lift: str) -> None:
    message = rf"ejected = 'penguins_off' does not go with rules.lift = '{lift}': .*choose "
    with pytest.raises(InvalidRules, match=message):
        Rules(lift=lift, ejected="penguins_off")
    with pytest.raises(InvalidRules, match=message):
        Rules.from_json({"lift": lift})
    assert Rules(lift=lift, ejected="with_tiles").lift == lift
    assert Rules.from_json({"lift": lift, "ejected": "leave_blocking"}).lift == lift


@pytest.mark.parametrize("name", [*OPTIONS, "turn_order"])
def test_rules_with_an_unknown_value_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidRules, match=rf"^rules.{name} is 'sometimes'; it can be '\w+' or "):
        Rules(**{name: "sometimes"})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "rules are a preset's name or options by name, not None"),
        (["fish"], "rules are a preset's name or options by name, not ['fish']"),
        (7, "rules are a preset's name or options by name, not 7"),
        ("chess", "no preset 'chess'; there are fish, classic"),
        ("", "no preset ''; there are fish, classic"),
        ({"preset": None}, "no preset None; there are fish, classic"),
        ({"preset": ["fish"]}, "no preset ['fish']; there are fish, classic"),
        ({"preset": 10**5000}, "no preset a int too large to show; there are fish, classic"),
        ({"lifts": "end"}, "no rule option 'lifts'; there are placement, lift, "),
        ({"x" * 999: "end"}, "no rule option 'xxx"),
        ({"lift": True}, "rules.lift is True; it can be 'never' or 'penguin' or "),
        ({"lift": ["end"]}, "rules.lift is ['end']; it can be 'never' or "),
        ({"lift": "End"}, "rules.lift is 'End'; it can be 'never' or "),
    ],
)
def test_rules_from_json_refuses_with_one_line(value: Any, message: str) -> None:
    with pytest.raises(InvalidRules) as caught:
        Rules.from_json(value)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(("players", "penguins"), [(1, 5), (2, 4), (3, 3), (4, 2), (5, 1), (9, 1)])
def test_penguins_for_is_six_less_the_players_and_at_least_one(players: int, penguins: int) -> None:
    assert penguins_for(players) == penguins
