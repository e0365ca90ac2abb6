"""Viewers of games, and databases in which games go on line by line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, update

from croupier_server.storage import catalogue, schema
from croupier_server.storage.database import Database
from croupier_server.tails import Frame

__all__ = ["Ear", "Played", "Told", "begin_cup", "parsed", "soon"]


@dataclass(frozen=True, slots=True)
class Told:
    """A server-sent event."""

    kind: str
    data: Any
    id: str | None = None


def parsed(stream: bytes) -> list[Told]:
    """The events of a stream, by the rules of the HTML standard, without its comments."""
    found: list[Told] = []
    for block in stream.decode().split("\n\n")[:-1]:
        pairs = [line.partition(": ") for line in block.split("\n") if not line.startswith(":")]
        fields = {name: value for name, _, value in pairs}
        if "data" in fields:
            found.append(Told(fields["event"], json.loads(fields["data"]), fields.get("id")))
    return found


@dataclass(eq=False)
class Ear:
    """A viewer that notes what it is told; one that is deaf takes no more than so many frames."""

    deaf_after: int = 10**9
    frames: list[Frame] = field(default_factory=list[Frame])
    is_closed: bool = False
    is_dropped: bool = False

    def put(self, frame: Frame) -> bool:
        """Note a frame."""
        assert not self.is_closed
        assert frame.chunk == b"%x\r\n" % len(frame.data) + frame.data + b"\r\n"
        if len(self.frames) >= self.deaf_after:
            return False
        self.frames.append(frame)
        return True

    def close(self) -> None:
        """Note the end."""
        assert not self.is_closed
        self.is_closed = True

    def drop(self) -> None:
        """Note that it was cut off."""
        self.is_dropped = True

    @property
    def told(self) -> list[Told]:
        """All events."""
        return parsed(b"".join(frame.data for frame in self.frames))

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events."""
        return [one.kind for one in self.told]

    def seqs(self, game: str | None = None) -> list[int]:
        """The numbers of all lines of a game, in the order in which they came."""
        return [
            line["seq"]
            for one in self.told
            if one.data.get("game") == game
            for line in one.data.get("lines", [])
        ]


async def soon(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - of whatever kind it is
            await asyncio.sleep(0.005)


def line(seq: int) -> str:
    """A line of a record that is like one."""
    event = {"kind": "start", "players": ["\u2028<b>"]} if seq == 0 else {"kind": "move", "n": seq}
    return json.dumps({"seq": seq, "event": event, "obs": {}}) + "\n"


@dataclass
class Played:
    """A game in a database that goes on when told so."""

    database: Database
    row: catalogue.GameRow
    seq: int = 0

    async def go_on(self, lines: int = 1) -> None:
        """Write some lines."""
        first = self.seq + 1
        self.seq += lines
        await self.database.append(self.row.id, [(n, line(n)) for n in range(first, self.seq + 1)])

    async def end(self, status: catalogue.GameStatus = "finished") -> None:
        """End it, as the server does, with a last line in the same transaction."""
        self.seq += 1
        last, row = self.seq, self.row.id

        def work(connection: Connection) -> None:
            catalogue.append_lines(connection, row, [(last, line(last))])
            table = schema.games
            connection.execute(update(table).where(table.c.id == row).values(status=status))

        await self.database.run(work)

    async def begin_again(self) -> Played:
        """Play its pairing again."""
        row, attempt = self.row, self.row.attempt + 1
        name = f"{row.name.partition('-')[0]}-{attempt}"
        again = await self.database.run(
            lambda c: catalogue.begin_game(c, row.pairing_id, attempt, name, 1, line(0))
        )
        return Played(self.database, again)


async def begin_cup(database: Database, games: int = 1, name: str = "cup") -> list[Played]:
    """Begin games of a new tournament."""
    from support.storage import pairings

    def work(connection: Connection) -> Sequence[catalogue.GameRow]:
        tournament = catalogue.create_tournament(connection, name, "round-robin", 7, {}).id
        catalogue.set_status(connection, tournament, "running")
        return [
            catalogue.begin_game(connection, row.id, 1, row.game, 1, line(0))
            for row in catalogue.issue(connection, tournament, pairings(games))
        ]

    return [Played(database, row) for row in await database.run(work)]
