"""A grading: all submissions on their way, as many at a time as there are slots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from croupier_common.render import printable
from croupier_server.errors import UserError
from croupier_server.gateway.house_seat import HousePool
from croupier_server.grading.evidence import FAULT, Evidence, Placing
from croupier_server.grading.grader_results import Results
from croupier_server.grading.isolation.model import Isolation
from croupier_server.grading.matches_table import Boards
from croupier_server.grading.progress import Progress
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.round_robin_pairs import PairsPlay
from croupier_server.grading.rubric import Rubric
from croupier_server.grading.scoring import grade
from croupier_server.grading.slots import Slots
from croupier_server.grading.stages import Referee, Stages
from croupier_server.grading.stages_logs import joined
from croupier_server.grading.store import Store
from croupier_server.grading.submission import Submission
from croupier_server.heartbeat import Heartbeat
from croupier_server.settings import Settings

__all__ = ["Grader", "Outcome"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a grading.

    Attributes:
        graded: in the order of the submissions.
        faults: the names of those that could not be graded, for a fault of ours.
    """

    graded: tuple[Graded, ...]
    faults: tuple[str, ...]


@dataclass(slots=True)
class Grader:
    """Grades submissions; use once.

    Args:
        seed: decides all boards.
        workers: how many submissions compute at a time.
        has_robin: whether the round robin is played, where the rubric asks for one.
    """

    rubric: Rubric
    seed: int
    submissions: Sequence[Submission]
    isolation: Isolation
    store: Store
    results: Results
    progress: Progress
    workers: int
    has_robin: bool = True
    _stages: dict[str, Stages] = field(default_factory=dict[str, Stages], init=False)
    _graded: dict[str, Graded] = field(default_factory=dict[str, Graded], init=False)
    _faults: dict[str, None] = field(default_factory=dict[str, None], init=False)

    async def run(self) -> Outcome:
        """Grade them all, and write all results but the tables."""
        names = [submission.intake.name for submission in self.submissions]
        self.results.begin_all(names)
        async with self._referee() as referee:
            await self._grade_all(referee)
            if self.rubric.robin is not None and self.has_robin:
                await self._play_robin(referee, self.rubric.robin.blocks)
        return Outcome(tuple(self._graded[name] for name in names), tuple(self._faults))

    @asynccontextmanager
    async def _referee(self) -> AsyncGenerator[Referee]:
        """What all are judged with; nothing of it runs afterwards."""
        game = self.rubric.game
        # a house player thinks while the program that it plays against waits: in all, no more
        # processes compute than there are slots
        pool, heartbeat = HousePool(self.workers), Heartbeat()
        heartbeat.start()
        try:
            yield Referee(
                self.rubric,
                Boards(game.rules, game.board_spec, game.players, self.seed),
                Settings.model_construct(clocks=self.rubric.clocks),  # not from the environment
                self.isolation,
                self.store,
                Slots(self.workers),
                pool,
                heartbeat.meter,
            )
        finally:
            heartbeat.stop()
            pool.close()

    # -- one by one

    async def _grade_all(self, referee: Referee) -> None:
        self.progress.begin("grading", len(self.submissions))
        waiting = iter(enumerate(self.submissions))

        async def work() -> None:
            for number, submission in waiting:
                await self._grade(referee, submission, number)

        async with asyncio.TaskGroup() as group:
            for number in range(min(self.workers, len(self.submissions))):
                group.create_task(work(), name=f"worker {number}")

    async def _grade(self, referee: Referee, submission: Submission, number: int) -> None:
        """Grade one; what goes wrong with ours is told, and the others go on."""
        name = submission.intake.name
        try:
            self.results.begin(name)
            stages = Stages(referee, submission, number, self.results.folder(name))
            self._stages[name] = stages
            evidence = await stages.evidence(lambda doing: self.progress.now(name, doing))
            if evidence.intake.problem == FAULT:
                self._faults[name] = None
            await self._write(evidence, stages)
        except Exception:  # one of them never keeps the others from their grades
            log.exception("a submission could not be graded", submission=name)
            await self._write_fault(submission)
        self.progress.over(self._line(name))

    async def _write(self, evidence: Evidence, stages: Stages) -> None:
        """Keep and write what was found; the pages take their time, so not in the loop."""
        name = evidence.intake.name
        self._graded[name] = await asyncio.to_thread(self._written, evidence, stages)

    def _written(self, evidence: Evidence, stages: Stages) -> Graded:
        if not self.has_robin and (kept := self.store.evidence(stages.name)) is not None:
            evidence = replace(evidence, placing=kept.placing)
        known = {need.level for need in self.rubric.public().matches()}
        logs = stages.logs()
        public = {level: path for level, path in logs.items() if level in known}
        self.store.put_evidence(evidence)
        return self.results.write(evidence, joined(logs), joined(public))

    async def _write_fault(self, submission: Submission) -> None:
        """Say that it is not the submission's fault."""
        intake = replace(submission.intake, problem=FAULT)
        self._faults[intake.name] = None
        evidence = Evidence(intake)
        self._graded[intake.name] = Graded(grade(self.rubric, evidence), evidence)
        try:
            self.store.put_evidence(evidence)
            await asyncio.to_thread(self.results.write, evidence, "", "")
        except Exception:  # likewise: its fault is in the tables
            log.exception("its results could not be written", submission=intake.name)

    def _line(self, name: str) -> str:
        found = self._graded[name].grade
        return f"{printable(name, 60)}: {found.points:g} of {found.of:g}"

    # -- all against all

    async def _play_robin(self, referee: Referee, blocks: int) -> None:
        """Play the round robin among those that run, and write their places."""
        able = [name for name, graded in self._graded.items() if _is_able(graded.evidence)]
        able.sort()
        if len(self.submissions) < 2 or not able:
            return
        play = PairsPlay(referee, {name: self._stages[name] for name in able}, blocks)
        played = await play.run(self.progress)
        self._faults.update(dict.fromkeys(played.faults))
        for name, placing in played.placings.items():
            await self._place(name, placing)

    async def _place(self, name: str, placing: Placing) -> None:
        evidence = self.store.evidence(name)
        if evidence is None:
            raise UserError(f"{self.store.folder / name}: the evidence is gone")
        await self._write(replace(evidence, placing=placing), self._stages[name])


def _is_able(evidence: Evidence) -> bool:
    """Whether it was built and started, so that it can play others."""
    if evidence.intake.problem or evidence.built is None or evidence.built.status == "failed":
        return False
    matches = evidence.matches.values()
    return not matches or any(not match.problem for match in matches)
