"""The stages of one submission: built, checked, and played, each kept as soon as it is over."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from croupier_server import __version__
from croupier_server.app import to_its_end
from croupier_server.clock import StallMeter
from croupier_server.errors import ServerFault
from croupier_server.gateway.house_seat import HousePool
from croupier_server.grading.building import build
from croupier_server.grading.conformance import check
from croupier_server.grading.evidence import Built, Checked, Evidence, Match
from croupier_server.grading.isolation.model import Cell, Isolation
from croupier_server.grading.limits import Limits
from croupier_server.grading.manifest import Manifest
from croupier_server.grading.matches import HouseMatch, game_label
from croupier_server.grading.matches_names import house_names, table_name
from croupier_server.grading.matches_player import Entry, ProgramPlayer
from croupier_server.grading.matches_table import Boards
from croupier_server.grading.rubric import MatchNeed, Rubric
from croupier_server.grading.rubric_model import KEY
from croupier_server.grading.slots import Slots
from croupier_server.grading.stages_logs import gather
from croupier_server.grading.store import Store, digest, stage_file
from croupier_server.grading.submission import Submission
from croupier_server.settings import Settings

__all__ = ["Referee", "Stages"]

T = TypeVar("T")

BUILD: Final = "build"
CHECK: Final = "check"


@dataclass(frozen=True, slots=True)
class Referee:
    """What all submissions of a run are judged with.

    Attributes:
        meter: tells for how long our loop was stalled.
    """

    rubric: Rubric
    boards: Boards
    settings: Settings
    isolation: Isolation
    store: Store
    slots: Slots
    pool: HousePool
    meter: StallMeter

    def build_key(self, submission: str) -> str:
        """The key of what came of building a submission with that digest."""
        return self._key("build", submission, self.rubric.build_limits)

    def check_key(self, submission: str) -> str:
        """The key of what the conformance check found out of it."""
        return self._key("check", submission, self.rubric.limits, self.rubric.clocks.move_ms)

    def games_key(self, what: object, *submissions: str) -> str:
        """The key of games of submissions with these digests.

        Args:
            what: else there is that decides them.
        """
        rubric, game = self.rubric, self.rubric.game
        setup = (game.players, game.rules.to_json(), game.board_spec.to_json())
        return self._key(what, submissions, setup, rubric.limits, rubric.clocks, self.boards.seed)

    def _key(self, *parts: object) -> str:
        # the text of a value is that of the call that makes it
        return digest(KEY, __version__, *map(repr, parts))


class Stages:
    """One submission on its way to its evidence.

    Args:
        number: of the submission, like no other's in this run.
        results: its own folder of results.
    """

    def __init__(
        self, referee: Referee, submission: Submission, number: int, results: Path
    ) -> None:
        self.name = submission.intake.name
        self.digest = submission.intake.digest
        self._referee = referee
        self._submission = submission
        self._number = number
        self._results = results
        self._built: Built | None = None  # in this run
        self._place = referee.store.place(self.name)

    async def evidence(self, told: Callable[[str], object]) -> Evidence:
        """All that is found out of it but its place; what is kept is not done again.

        Args:
            told: told what is being done.
        """
        found = Evidence(self._submission.intake)
        if found.intake.problem:
            return found
        built = self._find(BUILD, self._build_key, Built) or await self._build(told)
        if built.status == "failed":
            return replace(found, built=built)
        try:
            return await self._found(replace(found, built=built), told)
        except _NotBuiltAgain as again:
            return replace(found, built=again.built)

    async def _found(self, found: Evidence, told: Callable[[str], object]) -> Evidence:
        """What is found out of it once it is built."""
        rubric = self._referee.rubric
        if rubric.wants_check:
            checked = self._find(CHECK, self._check_key, Checked) or await self._check(told)
            found = replace(found, checked=checked)
        for need in rubric.matches():
            key = self._match_key(need)
            match = self._find(_stage(need), key, Match) or await self._match(need, told)
            found = replace(found, matches={**found.matches, need.level: match})
        return found

    def logs(self) -> Mapping[str, Path]:
        """Where the logs of its matches are, by level of the house players."""
        return {need.level: self._log(_stage(need)) for need in self._referee.rubric.matches()}

    async def make_ready(self, told: Callable[[str], object]) -> bool:
        """Have it built in this run; False if that fails."""
        built = self._built or await self._build(told)
        return built.status != "failed"

    @asynccontextmanager
    async def player(
        self, stage: str, match: str, name: str | None = None
    ) -> AsyncGenerator[ProgramPlayer]:
        """Its program in a cell, for one match; nothing of it runs afterwards.

        Args:
            match: what the match is called to it.
            name: what it is called at the table; by its own name if None.
        """
        referee, limits = self._referee, self._referee.rubric.limits
        entry = Entry(name or self._table_name(), *self._program(), limits)
        logs = self._place / f"{stage_file(stage)}-logs"
        shutil.rmtree(logs, ignore_errors=True)
        async with self._cell(limits) as cell:
            player = ProgramPlayer(
                entry, cell, referee.settings, referee.meter, logs=logs, match=match
            )
            try:
                yield player
            finally:
                await player.end()
        gather(logs, self._log(stage))

    # -- stages

    async def _build(self, told: Callable[[str], object]) -> Built:
        limits = self._referee.rubric.build_limits
        commands = self._manifest.build
        if not commands:
            self._built = Built("none")
            return self._kept(BUILD, self._build_key, self._built)
        async with self._referee.slots.hold():
            told("is built")
            async with self._cell(limits, writable=True) as cell:
                self._built = await build(commands, cell, limits)
                self._check_that_it_ran(cell)
        return self._kept(BUILD, self._build_key, self._built)

    async def _check(self, told: Callable[[str], object]) -> Checked:
        await self._need_built(told)
        referee, (argv, relayed) = self._referee, self._program()
        report = self._place / "check-report.json"
        async with referee.slots.hold():
            told("is checked")
            async with self._cell(referee.rubric.limits) as cell:
                checked = await check(
                    cell.command(argv, relayed=relayed),
                    budget_ms=referee.rubric.clocks.move_ms,
                    report=report,
                )
                self._check_that_it_ran(cell)
        return self._kept(CHECK, self._check_key, checked)

    async def _match(self, need: MatchNeed, told: Callable[[str], object]) -> Match:
        await self._need_built(told)
        referee = self._referee
        for old in (self._results / "records").glob(f"{game_label(need.level)}.*.jsonl"):
            old.unlink()
        async with (
            referee.slots.hold(),
            self.player(_stage(need), f"match against {need.level}") as player,
        ):
            match = await HouseMatch(
                need,
                player,
                referee.boards,
                referee.rubric.clocks,
                referee.pool,
                self._results,
                lambda blocks: told(f"plays {need.level}, block {blocks + 1}"),
            ).play()
        return self._kept(_stage(need), self._match_key(need), match)

    async def _need_built(self, told: Callable[[str], object]) -> None:
        if not await self.make_ready(told):
            assert self._built is not None
            raise _NotBuiltAgain(self._built)

    # -- within

    @property
    def _manifest(self) -> Manifest:
        assert self._submission.manifest is not None
        return self._submission.manifest

    def _program(self) -> tuple[tuple[str, ...], bool]:
        return self._manifest.command, self._manifest.transport == "websocket"

    def _table_name(self) -> str:
        """Its name against house players, whose own names stand."""
        rubric = self._referee.rubric
        house = [
            name
            for need in rubric.matches()
            for name in house_names(need.level, rubric.game.players - 1)
        ]
        return table_name(self._manifest.name, house)

    @asynccontextmanager
    async def _cell(self, limits: Limits, *, writable: bool = False) -> AsyncGenerator[Cell]:
        folder = self._submission.folder
        assert folder is not None
        isolation = self._referee.isolation
        cell = await _made(
            partial(isolation.cell, folder, limits, number=self._number, writable=writable)
        )
        try:
            yield cell
        finally:
            await to_its_end(_close(cell))
        for report in cell.reports():
            if report.is_ours:
                raise ServerFault(f"a program of {self.name} could not be run: {report.detail}")

    def _check_that_it_ran(self, cell: Cell) -> None:
        """See that what failed was the program's.

        Raises:
            ServerFault: not even the process that is to watch it came up.
        """
        if not cell.reports():
            raise ServerFault(f"no program of {self.name} could be run: no warden came up")

    def _log(self, stage: str) -> Path:
        return self._place / f"{stage_file(stage)}.log"

    @property
    def _build_key(self) -> str:
        return self._referee.build_key(self.digest)

    @property
    def _check_key(self) -> str:
        return self._referee.check_key(self.digest)

    def _match_key(self, need: MatchNeed) -> str:
        return self._referee.games_key(need, self.digest)

    def _find(self, stage: str, key: str, kind: type[T]) -> T | None:
        return self._referee.store.find(self.name, stage, key, kind)

    def _kept(self, stage: str, key: str, value: T) -> T:
        self._referee.store.put(self.name, stage, key, value)
        return value


class _NotBuiltAgain(Exception):
    """What was built in an earlier run does not build any more."""

    def __init__(self, built: Built) -> None:
        super().__init__(built.detail)
        self.built = built


def _stage(need: MatchNeed) -> str:
    return f"match-{game_label(need.level)}"


async def _made(make: Callable[[], Cell]) -> Cell:
    """A cell; beside the loop, as a build may have left very many files to go through."""
    made: list[Cell] = []
    try:
        await to_its_end(asyncio.to_thread(lambda: made.append(make())))
    except asyncio.CancelledError:
        for cell in made:
            await to_its_end(_close(cell))
        raise
    return made[0]


async def _close(cell: Cell) -> None:
    await asyncio.to_thread(cell.close)
