"""The rubric: what is read is what was written, and each mistake is one line that helps."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from croupier_client.check.steps import STEPS as KIT_STEPS
from croupier_common.board_spec import BoardSpec
from croupier_common.jsontypes import is_object
from croupier_common.rules import CLASSIC, FISH
from croupier_common.verdict import Verdict
from croupier_server.errors import UserError
from croupier_server.grading.evidence import BlockPlayed, GamePlayed, Match, Mishap
from croupier_server.grading.limits import BUILD_LIMITS, MIB, PLAY_LIMITS, Limits
from croupier_server.grading.rubric import (
    Beats,
    Builds,
    Cap,
    Conformance,
    Deductions,
    FinishedGames,
    GameSetup,
    Line,
    PlaceLine,
    Robin,
    Rubric,
    ThinkTime,
    dump_rubric,
    load_rubric,
)
from croupier_server.grading.rubric_steps import GROUPS
from croupier_server.grading.rubric_units import size_from, size_text, time_from, time_text
from croupier_server.settings import Clocks

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "rubric.toml"
BARE: Final = """
title = "Fish"
[[line]]
id = "b"
title = "It builds"
kind = "builds"
points = 1
"""
LEVELS: Final = ("random", "greedy", "minimax:2")
TITLES: Final = st.text(
    st.characters(codec="utf-8", exclude_characters="\x7f"), min_size=1, max_size=40
).filter(lambda text: text.isprintable() and text == text.strip())
POINTS: Final = st.integers(1, 10_000).map(lambda hundredths: hundredths / 100)


def loaded(tmp_path: Path, text: str) -> Rubric:
    file = tmp_path / "rubric.toml"
    file.write_text(text, encoding="utf-8")
    return load_rubric(file)


# -- what is read


def test_example_is_read_whole() -> None:
    rubric = load_rubric(EXAMPLE)
    assert [line.kind for line in rubric.lines] == [
        "builds",
        "conformance",
        "conformance",
        "games",
        "beats",
        "beats",
        "place",
    ]
    assert sum(line.points for line in rubric.lines) == 100
    assert rubric.limits == PLAY_LIMITS
    assert rubric.build_limits == BUILD_LIMITS
    assert rubric.clocks.move_ms == 2_000
    assert rubric.robin == Robin(1)
    assert rubric.caps == (Cap("not built", 10, is_percent=True),)
    assert rubric.deductions.each[Verdict.TIMEOUT] == 1


def test_example_leaves_think_time_out_which_no_two_runs_share() -> None:
    assert not any(line.kind == "think_time" for line in load_rubric(EXAMPLE).lines)
    commented = EXAMPLE.read_text(encoding="utf-8").partition("# [[line]]\n")[2]
    shown = "[[line]]\n" + commented.partition("\n\n")[0].replace("# ", "")
    [line] = tomllib.loads(shown)["line"]
    assert line["kind"] == "think_time"


def test_limits_have_units(tmp_path: Path) -> None:
    text = (
        '[limits]\nmemory = "512 MiB"\ncpu = "1.5 min"\nopen_files = 32\n[build]\nwall = "500 ms"'
    )
    rubric = loaded(tmp_path, BARE + text)
    assert rubric.limits == replace(PLAY_LIMITS, memory=512 * MIB, cpu_s=90, open_files=32)
    assert rubric.build_limits == replace(BUILD_LIMITS, wall_s=0.5)


@given(st.integers(0, 2**40), st.integers(0, 10**9))
def test_units_come_back(size: int, time_ms: int) -> None:
    assert size_from(size_text(size)) == size
    assert time_from(time_text(time_ms / 1000)) == time_ms / 1000


def test_steps_are_those_of_the_kit() -> None:
    kit: dict[str, list[str]] = {}
    for step in KIT_STEPS:
        kit.setdefault(step.group, []).append(step.name)
    assert {group: list(steps) for group, steps in GROUPS.items()} == kit


# -- round trip


def lines() -> st.SearchStrategy[tuple[Line, ...]]:
    common = {"title": TITLES, "points": POINTS, "public": st.booleans(), "id": st.just("x")}
    levels = st.sampled_from(LEVELS)
    partial = st.lists(
        st.tuples(st.sampled_from([0.3, 0.4, 0.5]), st.sampled_from([0.1, 0.25, 1.0])),
        unique_by=(lambda pair: pair[0], lambda pair: pair[1]),
    ).map(lambda pairs: tuple(zip(*map(sorted, zip(*pairs, strict=True)), strict=True)))
    one = st.one_of(
        st.builds(Builds, **common),
        st.builds(
            Conformance,
            **common,
            steps=st.sampled_from([(), ("boards",), ("connects", "the end")]),
            required=st.sampled_from(["each", "all"]),
        ),
        st.builds(FinishedGames, **common, against=levels, count=st.integers(1, 1_000)),
        st.builds(
            Beats,
            **common,
            against=levels,
            confidence=st.sampled_from([0.9, 0.95, 0.99]),
            score1=st.sampled_from([0.51, 0.6, 0.9]),
            max_blocks=st.integers(1, 10_000),
            partial=partial,
        ),
        st.builds(PlaceLine, **common, last=st.sampled_from([0.0, 0.2, 1.0])),
        st.builds(
            ThinkTime, **common, below_ms=st.integers(1, 10**6), percentile=st.integers(1, 100)
        ),
    )
    game = FinishedGames(id="g", title="Games", points=1, against="greedy", count=4)
    return st.lists(one, max_size=5).map(
        lambda found: (*(replace(line, id=f"l{at}") for at, line in enumerate(found)), game)
    )


RUBRICS: Final = st.builds(
    Rubric,
    title=TITLES,
    lines=lines(),
    seed=st.none() | st.integers(0, 2**63 - 1),
    game=st.sampled_from(
        [
            GameSetup(),
            GameSetup(3, FISH, BoardSpec.from_text("6x5,holes=3,fish=1-5")),
            GameSetup(4, CLASSIC, BoardSpec.from_text("classic")),
            GameSetup(2, replace(FISH, lift="end"), BoardSpec(fish={1: 3, 2: 1})),
        ]
    ),
    clocks=st.sampled_from([Clocks(), Clocks(move_ms=250, bank_ms=1_000)]),
    limits=st.sampled_from([PLAY_LIMITS, Limits(cpu_s=1.5, memory=64 * MIB, processes=1)]),
    build_limits=st.sampled_from([BUILD_LIMITS, Limits()]),
    deductions=st.builds(
        Deductions,
        st.dictionaries(st.sampled_from([v for v in Verdict if v.is_fault]), POINTS, max_size=3),
        st.none() | POINTS,
    ),
    caps=st.sampled_from(
        [(), (Cap("not built", 2.5), Cap("verdicts", 12.5, is_percent=True, games=4))]
    ),
    robin=st.just(Robin(2)),
    max_mishaps=st.integers(1, 9),
    hidden=st.sampled_from(["hidden", "after_due_date", "after_published"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(RUBRICS)
def test_what_is_written_is_read_again(tmp_path: Path, rubric: Rubric) -> None:
    assert loaded(tmp_path, dump_rubric(rubric)) == rubric


# -- what it asks for


def test_one_match_for_each_level(tmp_path: Path) -> None:
    needs = {need.level: need for need in load_rubric(EXAMPLE).matches()}
    assert list(needs) == ["random", "greedy"]
    assert needs["random"].games == 10
    assert needs["greedy"].games == 0
    assert [test.limit for test in needs["greedy"].tests] == [60]


def match(*scores: float, mishaps: int = 0) -> Match:
    fault = Mishap(Verdict.TIMEOUT, "movement", "no move in time", "be quicker")
    games = [
        GamePlayed(f"g.{at}", at % 2, ("a", "b"), score, 20, mishap=fault if at < mishaps else None)
        for at, score in enumerate(score for score in scores for _ in range(2))
    ]
    blocks = [BlockPlayed(at, 7, tuple(games[2 * at : 2 * at + 2])) for at in range(len(scores))]
    return Match("greedy", tuple(blocks))


def test_match_ends_with_the_last_test_and_enough_games() -> None:
    game = FinishedGames(id="g", title="g", points=1, against="greedy", count=30)
    beats = Beats(id="b", title="b", points=1, against="greedy", score1=0.7)
    [need] = Rubric("t", (game, beats)).matches()
    decided = next(n for n in range(1, 60) if beats.test.state([1.0] * n).is_over)
    assert decided < 15
    assert not need.is_met(match(*[1.0] * decided))
    assert need.is_met(match(*[1.0] * 15))
    assert not need.is_met(match(*[1.0, 0.25] * 8)), "the test is open"


def test_match_is_given_up_after_some_verdicts() -> None:
    [need] = Rubric(
        "t", (FinishedGames(id="g", title="g", points=1, against="greedy", count=30),)
    ).matches()
    assert not need.is_met(match(0.0, 0.0, mishaps=2))
    assert need.is_met(match(0.0, 0.0, mishaps=3))
    assert need.is_met(Match("greedy", problem="it does not start"))


def test_key_is_that_of_the_evidence_and_not_of_points() -> None:
    rubric = load_rubric(EXAMPLE)
    dearer = tuple(replace(line, points=line.points + 1, title="x") for line in rubric.lines)
    assert replace(rubric, lines=dearer, title="y").evidence_key() == rubric.evidence_key()
    assert replace(rubric, lines=rubric.lines[::-1]).evidence_key() == rubric.evidence_key()
    others = [
        replace(rubric, seed=1),
        replace(rubric, robin=Robin(2)),
        replace(rubric, clocks=Clocks(move_ms=1)),
        replace(rubric, build_limits=Limits()),
        replace(rubric, game=GameSetup(3)),
        replace(rubric, max_mishaps=1),
        replace(rubric, lines=rubric.lines[:4]),
    ]
    assert len({rubric.evidence_key(), *(other.evidence_key() for other in others)}) == 8


def test_public_part_has_neither_hidden_lines_nor_the_seed(tmp_path: Path) -> None:
    public = load_rubric(EXAMPLE).public()
    assert "beats-greedy" not in [line.id for line in public.lines]
    assert public.seed is None
    written = dump_rubric(public)
    assert "greedy" not in written
    assert "20250101" not in written
    assert loaded(tmp_path, written) == public


def test_check_is_wanted_for_a_cap_alone() -> None:
    rubric = Rubric("t", (Builds(id="b", title="b", points=1),))
    assert not rubric.wants_check
    assert replace(rubric, caps=(Cap("conformance failed", 0),)).wants_check


# -- mistakes

LINE: Final = '[[line]]\nid = "x"\ntitle = "X"\npoints = 1\n'
MISTAKES: Final = {
    "no TOML": ("title = ", "not TOML"),
    "no title": ("seed = 1", "title: a text of 1 to 80 characters"),
    "unknown part": ("lines = 1", "lines: no such setting; there are title"),
    "near part": ("lines = 1", "did you mean 'line'?"),
    "no lines": ('title = "x"', "line: at least one table under [[line]]"),
    "line as one table": ('title = "x"\n[line]\nid = "x"', "under [[line]]"),
    "no kind": (f'title = "x"\n{LINE}', "line 'x': kind: 'builds', 'conformance'"),
    "near kind": (f'title = "x"\n{LINE}kind = "beets"', "did you mean 'beats'?"),
    "unknown name in line": (f'{BARE}{LINE}kind = "games"\ncuont = 3', "did you mean 'count'?"),
    "name of another kind": (f'{BARE}{LINE}kind = "builds"\ncount = 3', "line 'x': count: no such"),
    "second id": (BARE + BARE.replace('title = "Fish"', ""), "line 'b': two lines have this id"),
    "points as text": (BARE.replace("= 1", "= '1'"), "line 'b': points: points from 0 to 100000"),
    "points below 0": (BARE.replace("= 1", "= -1"), "not -1"),
    "points of a third": (BARE.replace("= 1", "= 0.333"), "two places after the point"),
    "points not a number": (BARE.replace("= 1", "= nan"), "not nan"),
    "no points at all": (BARE.replace("= 1", "= 0"), "all lines together have 0 points"),
    "near strategy": (
        f'{BARE}{LINE}kind = "games"\ncount = 2\nagainst = "gredy"',
        "line 'x': against: a house player's strategy (no strategy 'gredy'; there are first;",
    ),
    "near step": (
        f'{BARE}{LINE}kind = "conformance"\nsteps = ["connects", "board-with-hole"]',
        "not 'board-with-hole'; did you mean 'board-with-holes'?",
    ),
    "scores the wrong way": (
        f'{BARE}{LINE}kind = "beats"\nagainst = "greedy"\nscore0 = 0.7',
        "line 'x': score1: more than score0, 0.7, not 0.6",
    ),
    "no confidence": (
        f'{BARE}{LINE}kind = "beats"\nagainst = "greedy"\nconfidence = 95',
        "confidence: a number from 0.5 to 0.9999, not 95",
    ),
    "partial falls": (
        f'{BARE}{LINE}kind = "beats"\nagainst = "greedy"\npartial = [[0.5, 0.5], [0.4, 0.7]]',
        "partial: pairs [mean score, share of the points]",
    ),
    "place without a round robin": (f'{BARE}{LINE}kind = "place"', "add [robin] with blocks = 1"),
    "think time without games": (
        f'{BARE}{LINE}kind = "think_time"\nbelow = "1 s"',
        "add a line of the kind 'games' or 'beats'",
    ),
    "size without unit": (f"{BARE}[limits]\nmemory = 512", "limits.memory: a size in B, KiB, MiB"),
    "decimal size": (f'{BARE}[limits]\nmemory = "512 MB"', "like '512 MiB', not '512 MB'"),
    "no time": (f'{BARE}[build]\nwall = "30"', "build.wall: a time in ms, s, min or h"),
    "no memory": (f'{BARE}[limits]\nmemory = "0 B"', "limits.memory: 0 leaves nothing"),
    "near limit": (f'{BARE}[limits]\nmemmory = "1 B"', "did you mean 'memory'?"),
    "near verdict": (f"{BARE}[deductions]\ntime_out = 1", "did you mean 'timeout'?"),
    "no fault": (f"{BARE}[deductions]\nabsent = 1", "deductions.absent: no such setting"),
    "cap without most": (f'{BARE}[[cap]]\nwhen = "not built"', "cap 1: most: points, or a text"),
    "cap above all": (f'{BARE}[[cap]]\nwhen = "verdicts"\nmost = "120 %"', "not '120 %'"),
    "near cause": (f'{BARE}[[cap]]\nwhen = "unbuilt"\nmost = 1', "cap 1: when: 'not built'"),
    "board too small": (f'{BARE}[game]\nplayers = 4\nboard = "2x2"', "game.board: "),
    "no board": (f'{BARE}[game]\nboard = "5"', "game.board: board '5'"),
    "no rules": (f'{BARE}[game]\nrules = "fisch"', "game.rules: no preset 'fisch'; there are fish"),
    "five players": (f"{BARE}[game]\nplayers = 5", "game.players: a whole number from 2 to 4"),
    "player without a clock": (f'{BARE}[clocks]\nno_clock = ["Ada"]', "clocks.no_clock: no such"),
    "clock at 0": (f"{BARE}[clocks]\nmove_ms = 0", "clocks.move_ms: "),
    "seed as text": ('title = "x"\nseed = "x"\n' + BARE.partition('"Fish"')[2], "seed: a whole"),
}


@pytest.mark.parametrize("name", list(MISTAKES))
def test_mistake_is_one_line_that_helps(tmp_path: Path, name: str) -> None:
    text, told = MISTAKES[name]
    with pytest.raises(UserError) as caught:
        loaded(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'rubric.toml'}: ")
    assert told in message
    assert "\n" not in message


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml: No such file"):
        load_rubric(tmp_path / "none.toml")


WHOLE: Final = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.data())
def test_any_value_anywhere_is_read_or_told(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    value = deepcopy(WHOLE)
    spot: Any = value
    while True:
        keys: list[Any] = list(spot) if is_object(spot) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(spot[key], dict | list) or data.draw(st.booleans()):
            spot[key] = data.draw(VALUES)
            break
        spot = spot[key]
    text = EXAMPLE.read_text(encoding="utf-8")

    def instead(read: str) -> dict[str, Any]:
        assert read == text
        return value

    with monkeypatch.context() as patched:
        patched.setattr("croupier_server.grading.rubric_reading.tomllib.loads", instead)
        told = ""
        try:
            load_rubric(EXAMPLE)
        except UserError as problem:
            told = str(problem)
    assert "\n" not in told
