"""Points: each comes about as the rubric says, with a reason, and never for what did not happen."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.verdict import Verdict
from croupier_server.grading.evidence import (
    BlockPlayed,
    Built,
    Checked,
    Evidence,
    GamePlayed,
    Intake,
    Match,
    Mishap,
    Placing,
    StepResult,
    StepStatus,
)
from croupier_server.grading.kept import dumped, loaded
from croupier_server.grading.rubric import (
    Beats,
    Builds,
    Cap,
    Conformance,
    Deductions,
    FinishedGames,
    Line,
    PlaceLine,
    Robin,
    Rubric,
    ThinkTime,
)
from croupier_server.grading.rubric_steps import STEPS
from croupier_server.grading.scoring import Grade, LineScore, grade

ADA: Final = Intake("ada", "Ada", "ada.zip")
BUILT: Final = Built("ok")

BUILDS: Final = Builds(id="builds", title="It builds", points=10)
CHECK: Final = Conformance(id="check", title="Conformance", points=20)
GAMES: Final = FinishedGames(id="games", title="Games", points=20, against="greedy", count=10)
BEATS: Final = Beats(
    id="beats",
    title="It beats greedy",
    points=30,
    against="greedy",
    score1=0.7,
    max_blocks=30,
    partial=((0.4, 0.25), (0.5, 0.5)),
)
PLACE: Final = PlaceLine(id="place", title="Place", points=20, last=0.2)
THINK: Final = ThinkTime(id="think", title="Quick", points=5, below_ms=50)
RUBRIC: Final = Rubric(
    "Fish",
    (BUILDS, CHECK, GAMES, BEATS, PLACE, THINK),
    deductions=Deductions({Verdict.TIMEOUT: 1.5, Verdict.MALFORMED: 2.0}, most=4.0),
    caps=(Cap("not built", 10, is_percent=True), Cap("verdicts", 60, games=2)),
    robin=Robin(),
)


def mishap(verdict: Verdict = Verdict.TIMEOUT) -> Mishap:
    return Mishap(verdict, "movement", "no move within 2000 ms.", "Stop the search earlier.")


def match(*scores: float, out: dict[int, Verdict] | None = None, thinks: int = 10) -> Match:
    """A match of games with those scores, two to a block; `out` by the game's number from 0."""
    games = [
        GamePlayed(
            f"greedy.{at // 2 + 1}.{at % 2 + 1}",
            at % 2,
            ("ada", "greedy"),
            score,
            30,
            thinks_ms=(thinks, thinks),
            mishap=None if out is None or at not in out else mishap(out[at]),
        )
        for at, score in enumerate(scores)
    ]
    blocks = [
        BlockPlayed(at // 2 + 1, 7, tuple(games[at : at + 2])) for at in range(0, len(games), 2)
    ]
    return Match("greedy", tuple(blocks))


def checked(**statuses: str) -> Checked:
    """A check that passed but for the steps named, with ``_`` for ``-``."""
    marks = {name.replace("_", "-"): status for name, status in statuses.items()}
    return Checked(
        tuple(
            StepResult(step, "", "", marks.get(step, "pass"), "wrong", "mend it")  # type: ignore[arg-type]
            for step in STEPS
        )
    )


def score(line: Line, evidence: Evidence, rubric: Rubric = RUBRIC) -> LineScore:
    [found] = grade(replace(rubric, lines=(line,)), evidence).lines
    return found


def played(found: Match) -> Evidence:
    return Evidence(ADA, BUILT, checked(), {"greedy": found})


# -- lines


def test_nothing_to_build_is_full() -> None:
    found = score(BUILDS, Evidence(ADA, Built("none")))
    assert (found.points, found.status, found.reasons) == (
        10,
        "passed",
        ("there is nothing to build",),
    )


def test_failed_build_says_why() -> None:
    found = score(BUILDS, Evidence(ADA, Built("failed", "Main.java:3: error:\n ';' expected")))
    assert (found.points, found.status) == (0, "failed")
    assert found.reasons == ("it did not build: Main.java:3: error: ';' expected",)


def test_each_step_is_a_share_and_warnings_pass() -> None:
    found = score(CHECK, Evidence(ADA, BUILT, checked(board_with_holes="fail", leaves="warn")))
    assert found.points == round(20 * (len(STEPS) - 1) / len(STEPS), 2)
    assert found.status == "partial"
    assert found.reasons == (
        f"{len(STEPS) - 1} of {len(STEPS)} steps passed",
        "board-with-holes failed: wrong; what to do: mend it",
    )


def test_step_that_does_not_apply_does_not_count() -> None:
    found = score(CHECK, Evidence(ADA, BUILT, checked(pings="skip", reconnects="skip")))
    assert (found.points, found.status) == (20, "passed")


def test_step_that_was_given_up_counts_as_failed() -> None:
    """Who hangs after the first steps does not get all points for those."""
    late = {step.replace("-", "_"): "skip" for step in STEPS[3:]}
    found = score(CHECK, Evidence(ADA, BUILT, checked(**late)))
    assert found.points < 3
    assert "join-answer not reached: wrong; what to do: mend it" in found.reasons


def test_missing_step_counts_as_failed() -> None:
    partly = Checked(checked().steps[:2])
    found = score(replace(CHECK, steps=("joining",)), Evidence(ADA, BUILT, partly))
    assert found.reasons[0].startswith("2 of 5 steps")
    assert found.reasons[1] == "join-answer not reached: the check did not get so far"


def test_all_steps_of_a_group_are_needed() -> None:
    line = replace(CHECK, steps=("boards",), required="all")
    assert score(line, Evidence(ADA, BUILT, checked(leaves="fail"))).points == 20
    found = score(line, Evidence(ADA, BUILT, checked(board_with_holes="fail")))
    assert (found.points, found.reasons[0]) == (0, "6 of 7 steps passed, all are needed")


def test_each_game_without_a_verdict_is_a_share() -> None:
    found = score(
        GAMES, played(match(*[0.0] * 12, out={3: Verdict.TIMEOUT, 11: Verdict.MALFORMED}))
    )
    assert (found.points, found.status) == (18, "partial")
    assert found.reasons == (
        "9 of 10 games against greedy ended without a verdict",
        "timeout in 1 game: no move within 2000 ms. What to do: Stop the search earlier",
    )


def test_games_that_were_given_up_are_lost() -> None:
    found = score(GAMES, played(match(*[0.0] * 4, out=dict.fromkeys((0, 1, 2), Verdict.TIMEOUT))))
    assert found.points == 2
    assert found.reasons[-1] == "6 games not played after 3 games with a verdict"


def test_better_player_has_all_points_and_the_figures() -> None:
    found = score(BEATS, played(match(*[1.0, 1.0, 1.0, 0.0] * 15)))
    assert (found.points, found.status) == (30, "passed")
    [told] = found.reasons
    assert told.startswith("beat greedy: ")
    assert told.endswith(" games), needed more than 50 % with 95 % confidence")


def test_player_that_is_not_better_has_a_stated_part() -> None:
    found = score(BEATS, played(match(*[1.0, 0.0] * 30)))
    assert (found.points, found.status) == (15, "partial")
    assert found.reasons[0].startswith("did not beat greedy: 50 % after ")
    assert found.reasons[1] == "partial credit: 50 % of the points for at least 50 %"


def test_open_end_is_told() -> None:
    line = replace(BEATS, max_blocks=4, partial=())
    found = score(line, played(match(*[1.0, 0.5] * 4)))
    assert (found.points, found.status) == (0, "failed")
    assert found.reasons == (
        (
            "not shown either way against greedy after 4 blocks (8 games): 75 %, "
            "needed more than 50 % with 95 % confidence"
        ),
    )


def test_match_that_was_given_up_is_lost_in_the_rest() -> None:
    won = match(*[1.0] * 3, *[0.0] * 3, out=dict.fromkeys((3, 4, 5), Verdict.TIMEOUT))
    found = score(BEATS, played(won))
    assert found.points == 0
    assert found.reasons[0].endswith(
        "no more was played after 3 games with a verdict, and the rest counts as lost"
    )


def test_block_that_was_broken_off_is_lost_in_the_rest() -> None:
    whole, broken = match(*[1.0] * 16), match(*[1.0] * 15)
    line = replace(BEATS, max_blocks=8, confidence=0.9999, score1=0.51)
    assert "100 % after" not in score(line, played(broken)).reasons[0]
    assert ": 100 %, " in score(line, played(whole)).reasons[0]
    assert ": 93.8 %, " in score(line, played(broken)).reasons[0]


@pytest.mark.parametrize(("place", "points"), [(1, 20), (3, 12), (5, 4)])
def test_place_goes_evenly_down_to_the_last(place: int, points: float) -> None:
    found = score(PLACE, Evidence(ADA, BUILT, placing=Placing(place, 5, 0.5, 8)))
    assert found.points == points


def test_round_robin_of_one_is_none() -> None:
    found = score(PLACE, Evidence(ADA, BUILT, placing=Placing(1, 1, 0.0, 0)))
    assert (found.points, found.reasons) == (
        0,
        ("there was nobody to play against in the round robin",),
    )


def test_think_time_is_scored_where_it_is_asked_for() -> None:
    rubric = replace(RUBRIC, lines=(GAMES, THINK))
    quick, slow = (
        grade(rubric, played(match(*[1.0] * 10, thinks=thinks))).lines[1] for thinks in (49, 50)
    )
    assert (quick.points, slow.points) == (5, 0)
    assert quick.reasons == ("think time (median) 49 ms in 20 turns, below 50 ms",)
    assert slow.levels == ("greedy",)


# -- what did not happen


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (
            Evidence(replace(ADA, problem="../x leaves the folder")),
            "it could not be taken in: ../x",
        ),
        (Evidence(ADA), "it was not built: the grading did not get so far"),
        (Evidence(ADA, Built("failed", "no javac")), "it did not build: no javac"),
    ],
)
def test_stage_that_was_not_reached_gives_nothing_and_says_why(
    evidence: Evidence, told: str
) -> None:
    found = grade(RUBRIC, evidence)
    assert found.points == 0
    for line in found.lines:
        assert (line.points, line.status) == (0, "failed")
        assert line.reasons[0].startswith(told)


def test_problems_of_later_stages_are_told() -> None:
    evidence = Evidence(
        ADA,
        BUILT,
        Checked(problem="the check took more than 300 s"),
        {"greedy": Match("greedy", problem="it did not answer hello")},
    )
    check, games, beats, place = (
        score(line, evidence).reasons for line in (CHECK, GAMES, BEATS, PLACE)
    )
    assert check == ("there was no conformance check: the check took more than 300 s",)
    assert games == beats == ("no game was played against greedy: it did not answer hello",)
    assert place == ("it took no part in the round robin",)


# -- what is taken off


def test_deductions_go_by_game_and_end_at_the_most() -> None:
    outs = {0: Verdict.MALFORMED, 1: Verdict.MALFORMED, 2: Verdict.TIMEOUT}
    found = grade(replace(RUBRIC, caps=()), played(match(*[1.0] * 20, out=outs)))
    assert [(one.points, one.reason) for one in found.deductions] == [
        (4, "malformed in 2 games, 2 points each"),
    ]
    loose = replace(RUBRIC, caps=(), deductions=replace(RUBRIC.deductions, most=5.0))
    found = grade(loose, played(match(*[1.0] * 20, out=outs)))
    assert [(one.points, one.reason) for one in found.deductions] == [
        (4, "malformed in 2 games, 2 points each"),
        (1, "timeout in 1 game, 1.5 points each, no more than 5 in all"),
    ]


def test_cap_says_what_it_costs_and_why() -> None:
    outs = {0: Verdict.FLOOD, 1: Verdict.FLOOD}
    found = grade(RUBRIC, played(match(*[1.0] * 60, out=outs)))
    assert found.points == 60
    [cap] = found.caps
    assert cap.points == sum(line.points for line in found.lines) - 60
    assert cap.reason == "at most 60 points: 2 games ended with a verdict"


def test_cap_that_is_not_felt_is_not_told() -> None:
    assert grade(RUBRIC, Evidence(ADA, Built("failed", "x"))).caps == ()


def test_cap_for_a_failed_check_names_the_steps() -> None:
    rubric = replace(RUBRIC, lines=(BUILDS, CHECK), caps=(Cap("conformance failed", 15),))
    found = grade(rubric, Evidence(ADA, BUILT, checked(ids="fail", leaves="warn")))
    assert found.points == 15
    assert found.caps[0].reason == "at most 15 points: the conformance check failed: ids"


def test_strongest_is_the_last_level_that_students_may_know() -> None:
    hidden = replace(BEATS, id="hidden", against="minimax:3", public=False)
    found = grade(replace(RUBRIC, lines=(GAMES, hidden)), Evidence(ADA, BUILT))
    assert found.strongest == "greedy"


# -- properties

T = TypeVar("T")
STATUSES: Final[st.SearchStrategy[StepStatus]] = st.sampled_from(["pass", "warn", "fail", "skip"])
GAMES_PLAYED: Final = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0]),
        st.none() | st.sampled_from([Verdict.TIMEOUT, Verdict.FLOOD, Verdict.MALFORMED]),
        st.integers(0, 100),
    ),
    max_size=60,
)


@st.composite
def matches(draw: st.DrawFn) -> Match:
    games = draw(GAMES_PLAYED)
    found = match(
        *(one for one, _, _ in games),
        out={at: verdict for at, (_, verdict, _) in enumerate(games) if verdict is not None},
        thinks=draw(st.integers(0, 100)),
    )
    return replace(found, problem="it did not start" if not games else "")


NO_MATCH: Final[dict[str, Match]] = {}
EVIDENCE: Final = st.builds(
    Evidence,
    st.sampled_from([ADA, replace(ADA, problem="a zip bomb")]),
    st.none() | st.builds(Built, st.sampled_from(["ok", "failed", "none"]), st.text(max_size=9)),
    st.none()
    | st.builds(
        Checked,
        st.dictionaries(st.sampled_from(STEPS), STATUSES).map(
            lambda found: tuple(StepResult(step, "", "", mark) for step, mark in found.items())
        ),
        st.sampled_from(["", "it did not start"]),
    ),
    st.just(NO_MATCH) | matches().map(lambda found: {"greedy": found}),
    st.none()
    | st.builds(Placing, st.integers(1, 4), st.just(4), st.floats(0, 1), st.integers(0, 9)),
)


@given(EVIDENCE, st.randoms())
def test_same_evidence_has_the_same_grade_in_whatever_order(
    evidence: Evidence, order: random.Random
) -> None:
    def mixed(several: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(order.sample(several, len(several)))

    found = {
        level: replace(
            one,
            blocks=mixed(tuple(replace(block, games=mixed(block.games)) for block in one.blocks)),
        )
        for level, one in evidence.matches.items()
    }
    check = evidence.checked
    other = replace(
        evidence,
        matches=found,
        checked=None if check is None else replace(check, steps=mixed(check.steps)),
    )
    assert grade(RUBRIC, other) == grade(RUBRIC, evidence)


@given(EVIDENCE)
def test_points_add_up_and_stay_between_none_and_all(evidence: Evidence) -> None:
    found = grade(RUBRIC, evidence)
    assert 0 <= found.points <= found.of == 105
    added = sum(round(line.points * 100) for line in found.lines)
    taken = sum(round(one.points * 100) for one in found.taken)
    assert added - taken == round(found.points * 100)
    for line in found.lines:
        assert line.reasons
        assert 0 <= line.points <= line.of
        assert (line.status == "failed") == (line.points == 0)


@given(EVIDENCE)
def test_grade_and_evidence_can_be_kept(evidence: Evidence) -> None:
    assert loaded(Evidence, dumped(evidence)) == evidence
    found = grade(RUBRIC, evidence)
    assert loaded(Grade, dumped(found)) == found


@given(matches())
def test_ending_early_never_pays(found: Match) -> None:
    """Whatever is left out at the end of a match, the line has no more points."""
    short = replace(found, blocks=found.blocks[: len(found.blocks) // 2])
    full = replace(BEATS, max_blocks=len(found.blocks) + 1, partial=())
    for line in (GAMES, full):
        assert score(line, played(short)).points <= score(line, played(found)).points
