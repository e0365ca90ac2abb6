"""Clients of the course's protocol that speak it by hand, honest or with one bad habit.

Nothing here uses the project's own reader of that protocol: values are cut out by the standard
library's decoder, and what these clients send is what is written here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from croupier_server.course.harnesses import xstrategy
from croupier_server.gateway.course_seat import CourseTimes
from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.lobby import Lobby
from croupier_server.settings import Settings
from croupier_server.tournament.ledger import NoLedger
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.progress import TournamentResult
from support.wire import quick_settings

PATIENCE_S = 20

QUICK = CourseTimes(name_ms=200, call_ms=150, first_turn_ms=300, ack_ms=120)
"""The course's times, scaled down."""


@dataclass
class CourseWire:
    """One client's connection, and the calls that came over it."""

    name: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    depth: int = 1
    received: list[Any] = field(default_factory=list[Any])
    """The calls, each ``[name, [arguments]]``."""
    texts: list[str] = field(default_factory=list[str])
    """The same as they came, with all that was before them."""
    closed: bool = False
    """Whether the server has closed the connection."""

    def calls(self, name: str) -> list[list[Any]]:
        """The arguments of what was called by that name."""
        return [arguments for called, arguments in self.received if called == name]

    @property
    def called(self) -> list[str]:
        """The names of all calls."""
        return [name for name, _ in self.received]

    async def send(self, raw: str | bytes) -> None:
        """Send text or bytes as they are."""
        self.writer.write(raw.encode() if isinstance(raw, str) else raw)
        await self.writer.drain()

    def right_answer(self, call: Any) -> str:
        """What an honest client answers."""
        name, arguments = call
        if name == "setup":
            return json.dumps(first_free(arguments[0]))
        if name == "take-turn":
            return json.dumps(xstrategy([self.depth, arguments[0]]))
        return '"void"'


def first_free(state: Mapping[str, Any]) -> list[int]:
    """The first free tile of a state, row by row from the left."""
    taken = [place for player in state["players"] for place in player["places"]]
    for row, tiles in enumerate(state["board"]):
        for column, fish in enumerate(tiles):
            if fish and [row, column] not in taken:
                return [row, column]
    raise AssertionError("there is no free tile")


Habit = Callable[[CourseWire, Any], Awaitable[bool]]
"""Called with every call; True if it has dealt with it, else it is answered right."""


async def honest(_wire: CourseWire, _call: Any) -> bool:
    """No habit."""
    return False


def hangs_up(name: str, *, saying: str = "", after: int = 0) -> Habit:
    """A habit of closing the connection instead of answering, or with a part of an answer."""

    async def habit(wire: CourseWire, call: Any) -> bool:
        if call[0] != name or len(wire.calls(name)) <= after:
            return False
        await wire.send(saying)
        wire.writer.close()
        return True

    return habit


def says(name: str, *raw: str | bytes, after: int = 0) -> Habit:
    """A habit of answering a call, after so many right answers, with parts sent one by one.

    ``RIGHT`` in a text stands for the right answer; without any part, nothing is said.
    """

    async def habit(wire: CourseWire, call: Any) -> bool:
        if call[0] != name or len(wire.calls(name)) <= after:
            return False
        for part in raw:
            right = wire.right_answer(call)
            await wire.send(part.replace("RIGHT", right) if isinstance(part, str) else part)
            await asyncio.sleep(0.002)  # so that each part is a segment of its own
        return True

    return habit


@dataclass(frozen=True)
class CourseScript:
    """A scripted client: its name, its habit, and what it sends to sign up, if not that name."""

    name: str
    habit: Habit = honest
    depth: int = 1
    sign_up: Sequence[str | bytes] | None = None
    signs_up: bool = True
    """Whether the server is to take it for a player."""

    async def play(self, port: int) -> CourseWire:
        """Connect, sign up and answer until the connection is closed."""
        wire = await self.connect(port)
        await self.answer_all(wire)
        return wire

    async def connect(self, port: int) -> CourseWire:
        """Connect and sign up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        wire = CourseWire(self.name, reader, writer, self.depth)
        for part in [json.dumps(self.name)] if self.sign_up is None else self.sign_up:
            await wire.send(part)
            await asyncio.sleep(0.002)  # so that each part is a segment of its own
        return wire

    async def answer_all(self, wire: CourseWire) -> None:
        """Answer until the connection is closed by either side."""
        text = ""
        try:
            while data := await wire.reader.read(65_536):
                text += data.decode()
                while text:
                    try:
                        call, end = json.JSONDecoder().raw_decode(text)
                    except json.JSONDecodeError:
                        break
                    wire.texts.append(text[:end])
                    text = text[end:]
                    wire.received.append(call)
                    if not await self.habit(wire, call):
                        await wire.send(wire.right_answer(call))
            wire.closed = True
        except (ConnectionError, RuntimeError):  # RuntimeError: read while the writer is closed
            wire.closed = True
        finally:
            wire.writer.close()


def course_settings(**sections: Mapping[str, object]) -> Settings:
    """Settings for tests, whose clocks leave :data:`QUICK` all of its time."""
    given = {"clocks": {**QUICK.clocks().model_dump(), "latency_allowance_ms": 0}}
    for section, values in sections.items():
        given.setdefault(section, {}).update(values)
    return quick_settings(None, **given)


@dataclass
class CourseArena:
    """A finished tournament: its result, and the clients by their numbers."""

    result: TournamentResult
    wires: list[CourseWire]

    @property
    def count(self) -> list[int]:
        """What the course's server writes."""
        return [len(self.result.winners), len(self.result.faults)]


async def play_course(
    scripts: Sequence[CourseScript],
    settings: Settings | None = None,
    times: CourseTimes = QUICK,
) -> CourseArena:
    """Run a tournament of scripted clients, who sign up in their order."""
    settings = settings or course_settings()
    wanted = sum(script.signs_up for script in scripts)
    lobby = Lobby(
        settings.lobby.model_copy(
            update={"min_players": wanted, "max_players": wanted, "wait_ms": 10_000}
        )
    )
    gateway = CourseGateway(settings, 0, lobby.admit, lobby.leave, times)
    await gateway.start()
    playing: list[asyncio.Task[None]] = []
    wires: list[CourseWire] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            players = 0
            for script in scripts:
                wire = await script.connect(gateway.port)
                wires.append(wire)
                playing.append(asyncio.create_task(script.answer_all(wire)))
                players += script.signs_up
                while len(lobby.seats) < players:  # noqa: ASYNC110 - it has no event to wait for
                    await asyncio.sleep(0.001)
            seats = await lobby.gather()
            result = await Manager(settings, seats, 7, NoLedger()).run()
    finally:
        await gateway.stop()
        await asyncio.gather(*playing)
        for wire in wires:
            with suppress(ConnectionError):  # the server may have closed with something unread
                await wire.writer.wait_closed()
    return CourseArena(result, wires)
