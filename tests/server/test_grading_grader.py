"""A grading as a whole, in process: what is kept, what is played again, and whose fault it is."""

import asyncio
import json
import re
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from croupier_common.verdict import Verdict
from croupier_server.gateway.house_seat import HousePool
from croupier_server.grading.cli_folders import readable_by_all, work_folder
from croupier_server.grading.evidence import FAULT, BlockPlayed, Evidence, GamePlayed, Intake, Match
from croupier_server.grading.grader import Grader, Outcome
from croupier_server.grading.grader_results import Results, summary
from croupier_server.grading.isolation.choice import choose
from croupier_server.grading.isolation.model import Cell, Isolation, IsolationName
from croupier_server.grading.limits import Limits
from croupier_server.grading.progress import Lines
from croupier_server.grading.rubric import Rubric
from croupier_server.grading.slots import Slots
from croupier_server.grading.store import Store
from croupier_server.grading.submission import Submission
from support.needs import require
from support.submitted import PLACE, SEED, built_by, games, rubric_of, submission

CHECKED = """
[[line]]
id = "check"
title = "It joins"
kind = "conformance"
steps = ["connects", "join"]
points = 10
"""
HIDDEN = """
[[line]]
id = "hidden"
title = "It plays on"
kind = "games"
against = "random"
count = 2
points = 10
public = false
"""


@pytest.fixture(scope="module", autouse=True)
def one_pool() -> Generator[None]:
    """One pool of house players for all, as it takes a while to start."""
    pool = HousePool(1)
    with pytest.MonkeyPatch.context() as patch:
        kept = partial(_Kept, pool)
        patch.setattr("croupier_server.grading.grader.HousePool", kept)
        yield
    pool.close()


class _Kept(HousePool):
    """A pool that closing does not end."""

    def __init__(self, pool: HousePool, _: int) -> None:
        super().__init__(1)
        self.choose = pool.choose  # type: ignore[method-assign]


class Faulty:
    """An isolation that fails for one submission, for a fault of ours."""

    def __init__(self, name: str) -> None:
        self._inner = choose("same-user")
        self._bad = name
        self.name: IsolationName = self._inner.name
        self.title = self._inner.title
        self.not_contained = self._inner.not_contained

    def cell(self, own: Path, limits: Limits, *, number: int, writable: bool = False) -> Cell:
        if own.name == self._bad:
            raise ZeroDivisionError("the grader's own")
        return self._inner.cell(own, limits, number=number, writable=writable)


class Wardenless(Faulty):
    """An isolation whose wardens do not come up, as where our own files can't be read."""

    def cell(self, own: Path, limits: Limits, *, number: int, writable: bool = False) -> Cell:
        found = self._inner.cell(own, limits, number=number, writable=writable)
        return found if own.name != self._bad else _Bare(found)


class _Bare:
    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self.folder = cell.folder
        self.reports = cell.reports
        self.close = cell.close

    def command(self, argv: Sequence[str], *, relayed: bool = False) -> Sequence[str]:
        command = self._cell.command(argv, relayed=relayed)
        return [*command[:-1], "/no/such.spec"]


async def graded(
    folder: Path,
    submissions: Sequence[Submission],
    rubric: Rubric,
    isolation: Isolation | None = None,
    *,
    workers: int = 1,
) -> Outcome:
    out, isolation = folder / "out", isolation or choose("same-user")
    store = Store(out)
    store.make()
    return await Grader(
        rubric=rubric,
        seed=SEED,
        submissions=submissions,
        isolation=isolation,
        store=store,
        results=Results(out, rubric, isolation, isolation.not_contained),
        progress=Lines(),
        workers=workers,
    ).run()


def points(outcome: Outcome) -> dict[str, float]:
    return {one.grade.name: one.grade.points for one in outcome.graded}


def records(folder: Path) -> dict[str, int]:
    """When each record was written."""
    found = sorted((folder / "out").rglob("*.jsonl"))
    return {str(path): path.stat().st_mtime_ns for path in found}


def results(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / name / "results.json").read_text())
    return found


async def test_second_run_plays_nothing_and_gives_the_same(tmp_path: Path) -> None:
    rubric = rubric_of(tmp_path, games(2), PLACE)
    all_in = [submission(tmp_path / "in", name) for name in ("ada", "bob")]
    first = await graded(tmp_path, all_in, rubric)
    written = records(tmp_path)
    assert len(written) == 6
    again = await graded(tmp_path, all_in, rubric)
    assert again == first
    assert records(tmp_path) == written


async def test_points_are_weighed_anew_without_a_game_and_another_board_is_played(
    tmp_path: Path,
) -> None:
    rubric = rubric_of(tmp_path)
    all_in = [submission(tmp_path / "in", "ada")]
    await graded(tmp_path, all_in, rubric)
    written = records(tmp_path)
    dearer = replace(rubric, lines=tuple(replace(line, points=30) for line in rubric.lines))
    assert points(await graded(tmp_path, all_in, dearer)) == {"ada": 60}
    assert records(tmp_path) == written
    await graded(tmp_path, all_in, rubric_of(tmp_path, games(2), HIDDEN))
    more = records(tmp_path)
    assert len(more) == 4
    assert written.items() <= more.items()  # the match that there was is not played again
    await graded(tmp_path, all_in, replace(rubric, max_mishaps=1))
    assert not written.items() & records(tmp_path).items()


async def test_fault_of_ours_costs_nobody_else_and_is_made_good_by_the_next_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rubric = rubric_of(tmp_path)
    all_in = [submission(tmp_path / "in", name) for name in ("ada", "bob")]
    outcome = await graded(tmp_path, all_in, rubric, Faulty("ada"))
    assert outcome.faults == ("ada",)
    assert points(outcome) == {"ada": 0, "bob": 20}
    assert FAULT in json.dumps(results(tmp_path, "ada"))
    assert results(tmp_path, "bob")["score"] == 20
    assert "ZeroDivisionError: the grader's own" in capsys.readouterr().err
    written = records(tmp_path)
    outcome = await graded(tmp_path, all_in, rubric)
    assert outcome.faults == ()
    assert points(outcome) == {"ada": 20, "bob": 20}
    assert written.items() <= records(tmp_path).items()


@pytest.mark.parametrize("stage", ["match", "build", "check"])
async def test_program_that_could_not_be_run_is_no_fault_of_its_own(
    stage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rubric = rubric_of(tmp_path, games(), *([CHECKED] if stage == "check" else []))
    ada, bob = (submission(tmp_path / "in", name) for name in ("ada", "bob"))
    if stage == "build":
        ada = built_by(ada, ("true",))
    outcome = await graded(tmp_path, [ada, bob], rubric, Wardenless("ada"))
    assert outcome.faults == ("ada",)
    assert points(outcome)["bob"] >= 20
    assert FAULT in json.dumps(results(tmp_path, "ada"))
    assert "no warden came up" in capsys.readouterr().err


async def test_broken_submissions_leave_the_grades_of_others_as_they_are(tmp_path: Path) -> None:
    rubric = rubric_of(tmp_path, games(4))
    good = submission(tmp_path / "in", "good")
    alone = await graded(tmp_path / "alone", [good], rubric)
    intake = Intake("evil", "evil", "evil.zip", problem="../../etc: a path that leaves the folder")
    others = [
        Submission(intake, None, None),
        submission(tmp_path / "in", "dead", "crash", "hello", "0"),
        submission(tmp_path / "in", "mute", "garbage", "move", "0"),
        built_by(submission(tmp_path / "in", "raw"), ("false",)),
    ]
    among = await graded(tmp_path / "among", [*others, good], rubric)
    assert points(among) == {"evil": 0, "dead": 10, "mute": 10, "raw": 0, "good": 20}
    assert among.graded[-1].grade == alone.graded[0].grade
    assert among.faults == ()
    for name in points(among):
        assert results(tmp_path / "among", name)["score"] == points(among)[name]
        assert (tmp_path / "among/out" / name / "report.html").exists()


async def test_round_robin_ranks_those_that_play_and_tells_nobody_whom(tmp_path: Path) -> None:
    rubric = rubric_of(tmp_path, games(2), PLACE)
    all_in = [
        submission(tmp_path / "in", "ada"),
        submission(tmp_path / "in", "dead", "crash", "hello", "0"),
        submission(tmp_path / "in", "weak", "crash", "move", "2"),
    ]
    outcome = await graded(tmp_path, all_in, rubric)
    placings = {one.grade.name: one.evidence.placing for one in outcome.graded}
    assert placings["dead"] is None
    assert placings["ada"] is not None
    assert placings["weak"] is not None
    assert (placings["ada"].place, placings["weak"].place) == (1, 2)
    assert placings["ada"].of == 2
    (first, _) = sorted((tmp_path / "out/.grading/.robin").rglob("*.jsonl"))
    header = json.loads(first.read_text().splitlines()[0])["event"]
    assert all(re.fullmatch("player [0-9a-f]{8}", seat["name"]) for seat in header["players"])
    assert '"place"' in (tmp_path / "out/.grading/ada/evidence.json").read_text()


async def test_log_of_hidden_games_is_not_in_the_students_report(tmp_path: Path) -> None:
    rubric = rubric_of(tmp_path, games(2), HIDDEN)
    one = submission(tmp_path / "in", "ada", "crash", "move", "2")
    await graded(tmp_path, [one], rubric)
    folder = tmp_path / "out/ada"
    assert "== match against random" in (folder / "log.txt").read_text()
    report = (folder / "report.html").read_text()
    assert "== match against first" in report
    assert "against random" not in report


async def test_what_does_not_build_any_more_is_not_graded_by_what_was_played(
    tmp_path: Path,
) -> None:
    rubric = rubric_of(tmp_path)
    once = submission(tmp_path / "in", "ada")
    mark = tmp_path / "built"
    code = (
        f"import os, sys; at = {str(mark)!r}; sys.exit(os.path.exists(at) or open(at, 'w').close())"
    )
    ada = built_by(once, ("python3", "-I", "-S", "-c", code))
    assert points(await graded(tmp_path, [ada], rubric)) == {"ada": 20}
    assert points(await graded(tmp_path, [ada], rubric)) == {"ada": 20}  # from what is kept
    (tmp_path / "out/.grading/ada/match-first.json").write_text("damaged")
    outcome = await graded(tmp_path, [ada], rubric)
    assert points(outcome) == {"ada": 0}
    assert outcome.graded[0].evidence.matches == {}


# -- the parts


async def test_slots_are_never_more_than_there_are_and_two_can_want_two() -> None:
    slots, held, most = Slots(3), 0, 0

    async def work(wanted: int) -> None:
        nonlocal held, most
        async with slots.hold(wanted):
            held += min(wanted, 3)
            most = max(most, held)
            await asyncio.sleep(0)
            held -= min(wanted, 3)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for wanted in (2, 2, 1, 2, 1, 9, 2):
            group.create_task(work(wanted))
    assert (most, held) == (3, 0)


async def test_slot_of_somebody_who_gave_up_waiting_is_free_again() -> None:
    slots = Slots(2)
    async with slots.hold():
        waiting = asyncio.create_task(slots.hold(2).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        async with asyncio.timeout(5), slots.hold():
            pass


def test_summary_keeps_the_games_and_the_median_think_time() -> None:
    thinks = [tuple(range(at, 60, 2)) for at in (1, 2)]
    found = tuple(
        GamePlayed(str(at), 0, ("a", "b"), 0.5, 9, thinks_ms=times)
        for at, times in enumerate(thinks)
    )
    whole = Evidence(Intake("a", "a", "a"), matches={"x": Match("x", (BlockPlayed(1, 7, found),))})
    kept = summary(whole).matches["x"]
    times = [ms for game in kept.games for ms in game.thinks_ms]
    assert len(times) == 31
    assert (times[0], times[15], times[-1]) == (1, 30, 59)
    assert kept.scores == whole.matches["x"].scores


def test_seed_is_drawn_once_and_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.make()
    drawn = store.seed(None)
    assert store.seed(None) == drawn
    assert store.seed(5) == 5
    store.forget()
    assert store.seed(None) == 5


def test_evidence_of_another_key_or_damaged_is_not_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.make()
    store.put("ada", "match", "k", Match("x"))
    assert store.find("ada", "match", "k", Match) == Match("x")
    assert store.find("ada", "match", "other", Match) is None
    path = tmp_path / ".grading/ada/match.json"
    path.write_text(path.read_text()[:-9])
    assert store.find("ada", "match", "k", Match) is None


def test_work_folder_that_a_killed_run_has_left_is_removed_by_the_next(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.make()
    left = tmp_path / "croupier-grade-left"
    (left / "ada").mkdir(parents=True)
    (store.folder / "work").write_text(str(left))
    with work_folder(store) as work:
        assert not left.exists()
        assert work.stat().st_mode & 0o777 == 0o711
    assert not work.exists()
    assert not (store.folder / "work").exists()


def test_file_that_everybody_can_read_is_known(tmp_path: Path) -> None:
    require("posix", hasattr(Path, "owner"), "file modes are POSIX's")
    inner = tmp_path / "inner"
    inner.mkdir(mode=0o700)
    (inner / "rubric.toml").touch(mode=0o644)
    assert not readable_by_all(inner / "rubric.toml")
    assert readable_by_all(Path("/"))
    assert not readable_by_all(inner / "nothing")


def test_fault_has_no_verdict_of_the_players() -> None:
    assert not any(verdict.value in FAULT for verdict in Verdict)
