"""The tournaments that a server plays side by side: prepared, played to their ends, exported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from croupier_server.ending import to_its_end
from croupier_server.errors import (
    CroupierError,
    NotEnoughPlayers,
    StoppedByOrder,
    UserError,
    first_of,
)
from croupier_server.practice import PRACTICE
from croupier_server.room import Room
from croupier_server.settings import Settings
from croupier_server.storage.record_files import write_records
from croupier_server.tournament.progress import TournamentResult

__all__ = ["Tournaments", "check_names"]

log = structlog.get_logger(__name__)


class Tournaments:
    """Rooms whose tournaments are played; use once.

    Args:
        ended: told of each tournament that has ended.

    Attributes:
        rooms: all of them.
        open: those that can be played.
        results: by name, how the tournaments ended that have.
        unplayed: by name, why others did not.
    """

    def __init__(self, rooms: Sequence[Room], ended: Callable[[TournamentResult], None]) -> None:
        self.rooms = rooms
        self.open: list[Room] = []
        self.results: dict[str, TournamentResult] = {}
        self.unplayed: dict[str, CroupierError] = {}
        self._ended = ended

    async def prepare(self) -> None:
        """Open the rooms; of several tournaments, those that are over are left as they are.

        Raises:
            UserError: none of them can be played.
        """
        for room in self.rooms:
            try:
                await room.prepare()
            except UserError as problem:
                if len(self.rooms) == 1:
                    raise
                self._note_unplayed(room, problem)
            else:
                self.open.append(room)
        if not self.open:
            raise next(iter(self.unplayed.values()))

    async def play(self) -> None:
        """Play all, side by side.

        Raises:
            StorageFailed: nothing can be written down any more.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for room in self.open:
                    group.create_task(self._play_one(room), name=f"tournament {room.name}")
        except BaseExceptionGroup as several:
            raise first_of(several) from None

    def first_result(self) -> TournamentResult:
        """The first tournament's result.

        Raises:
            CroupierError: one of them was not played to its end.
        """
        if self.unplayed:
            raise next(iter(self.unplayed.values()))
        return self.results[self.open[0].name]

    @property
    def go_on(self) -> bool:
        """Whether any is unfinished and can go on later."""
        return any(room.goes_on for room in self.rooms)

    async def close(self) -> None:
        """Let everybody go who is still here."""
        async with asyncio.TaskGroup() as group:
            for room in self.rooms:
                group.create_task(room.close(), name=f"close {room.name}")

    async def export(self, folder: Path | None) -> None:
        """Put the records of what was played into a folder, if there is one."""
        if folder is None:
            return
        for number, room in enumerate(self.rooms):
            own = folder if not number else folder / room.name
            result = self.results.get(room.name)
            games = await room.records()
            write_records(own, games, None if result is None else result.to_json())

    async def _play_one(self, room: Room) -> None:
        """Play one tournament; if it can't be played to its end, the others go on."""
        try:
            self.results[room.name] = result = await room.run()
            self._ended(result)
        except (NotEnoughPlayers, StoppedByOrder, UserError) as problem:
            self._note_unplayed(room, problem)
        finally:
            await to_its_end(room.close())

    def _note_unplayed(self, room: Room, problem: CroupierError) -> None:
        log.warning("tournament not played to its end", name=room.name, reason=str(problem))
        self.unplayed[room.name] = problem


def check_names(played: Sequence[Settings]) -> None:
    """Check that tournaments which are played side by side have names of their own.

    Raises:
        UserError: two have one name, or one has the practice room's.
    """
    names = [one.tournament.name for one in played]
    for name in names:
        if names.count(name) > 1 or name == PRACTICE:
            raise UserError(f"tournament.name: {name!r} is the name of another room here")
