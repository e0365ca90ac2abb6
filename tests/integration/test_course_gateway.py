"""The course's port: who gets in under which name, what a connection may cost, who plays whom."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from croupier_common.messages import JoinParams, TournamentEnd, TournamentEndParams
from croupier_common.verdict import Phase, Verdict
from croupier_server.errors import UserError
from croupier_server.gateway import course_seat
from croupier_server.gateway.course_seat import CourseTimes
from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.lobby import Lobby
from croupier_server.seats import Admission, NoAnswer, Seat
from croupier_server.settings import Settings
from croupier_server.tournament.ledger import NoLedger
from croupier_server.tournament.manager import Manager
from support.course_wire import (
    PATIENCE_S,
    QUICK,
    CourseScript,
    CourseWire,
    course_settings,
    play_course,
    says,
)
from support.wire import Script, Wire


@dataclass
class Port:
    """An open course port, its lobby, and who connected."""

    gateway: CourseGateway
    lobby: Lobby
    wires: list[CourseWire]

    async def connect(self, name: str, *sign_up: str) -> CourseWire:
        wire = await CourseScript(name, sign_up=sign_up or None).connect(self.gateway.port)
        self.wires.append(wire)
        return wire

    @property
    def names(self) -> list[str]:
        return [seat.name for seat in self.lobby.seats]


@asynccontextmanager
async def open_port(
    settings: Settings | None = None, times: CourseTimes = QUICK
) -> AsyncGenerator[Port]:
    settings = settings or course_settings()
    lobby = Lobby(settings.lobby)
    gateway = CourseGateway(settings, 0, lobby.admit, lobby.leave, times)
    port = Port(gateway, lobby, [])
    await gateway.start()
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield port
    finally:
        for wire in port.wires:
            wire.writer.close()
        await gateway.stop()


async def until(what: Callable[[], bool]) -> None:
    while not what():  # noqa: ASYNC110 - a lobby has no event for everything
        await asyncio.sleep(0.001)


async def is_closed(wire: CourseWire) -> bool:
    try:
        return await wire.reader.read(1) == b""
    except ConnectionError:
        return True


# -- names


WRONG_NAMES = {
    "empty": '""',
    "13 letters": '"abcdefghijklm"',
    "digit": '"ann2"',
    "space": '"a b"',
    "accent": '"ren\u00e9"',
    "number": "12 ",
    "null": "null",
    "array": '["ann"]',
    "no JSON": "ann",
    "not closed": '"ann',
    "HTTP": "GET / HTTP/1.1\r\n\r\n",
    "too much": '"' + "a" * 70_000,
    "nothing": "",
}


async def test_who_sends_no_valid_name_has_never_been_there() -> None:
    async with open_port() as port:
        wires = [await port.connect(case, raw) for case, raw in WRONG_NAMES.items()]
        await port.connect("ann")
        await until(lambda: port.names == ["ann"])
        for wire in wires:
            assert await is_closed(wire), wire.name
        assert port.names == ["ann"]


async def test_names_are_read_concurrently() -> None:
    """Those who say nothing, or half of a name, hold up nobody."""
    async with open_port() as port:
        for _ in range(10):
            await port.connect("silent", "")
            await port.connect("half", '"ha')
        loop = asyncio.get_running_loop()
        began = loop.time()
        await port.connect("ann")
        await until(lambda: port.names == ["ann"])
        assert loop.time() - began < QUICK.name_ms / 2_000


@pytest.mark.parametrize("sign_up", [('"an', 'n"'), ("\n", ' "ann"'), tuple('"ann"')])
async def test_name_in_pieces_is_a_name(sign_up: tuple[str, ...]) -> None:
    async with open_port() as port:
        await port.connect("ann", *sign_up)
        await until(lambda: port.names == ["ann"])


async def test_name_gets_no_reply() -> None:
    async with open_port() as port:
        wire = await port.connect("ann")
        await until(lambda: port.names == ["ann"])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await wire.reader.read(1)


@pytest.mark.parametrize("raw", ['"ann""ann"', '"ann" "bo"', '"ann" x', '"ann"["void"]'])
async def test_more_than_a_name_is_a_fault_that_decides_at_the_start(raw: str) -> None:
    bad = CourseScript("ann", sign_up=[raw])
    arena = await play_course([CourseScript("a"), bad, CourseScript("c")])
    assert set(arena.result.faults) == {"ann"}
    fault = arena.result.faults["ann"]
    assert (fault.verdict, fault.phase) == (Verdict.MALFORMED, Phase.TOURNAMENT_START)


async def test_equal_names_are_told_apart_inside() -> None:
    async with open_port() as port:
        for name in ("ann", "bo", "ann", "Ann", "ann"):
            before = len(port.names)
            await port.connect(name)
            await until(lambda: len(port.names) > before)  # noqa: B023 - awaited here
        assert port.names == ["ann", "bo", "ann#2", "Ann#3", "ann#4"]


async def test_players_of_one_name_play_each_other() -> None:
    arena = await play_course([CourseScript("ann")] * 5)
    assert not arena.result.faults
    assert sorted(name for _, name in arena.result.standings) == [
        "ann",
        *[f"ann#{number}" for number in range(2, 6)],
    ]


async def test_who_leaves_before_the_start_frees_its_place_and_name() -> None:
    async with open_port() as port:
        wire = await port.connect("ann")
        await until(lambda: port.names == ["ann"])
        wire.writer.close()
        await until(lambda: port.names == [])
        await port.connect("ann")
        await until(lambda: port.names == ["ann"])


async def test_who_comes_too_late_is_sent_away() -> None:
    settings = course_settings(lobby={"min_players": 2, "max_players": 2})
    async with open_port(settings) as port:
        await port.connect("ann")
        await port.connect("bo")
        seats = await port.lobby.gather()
        assert [seat.name for seat in seats] == ["ann", "bo"]
        assert await is_closed(await port.connect("cy"))


async def test_sign_up_order_of_many_at_once_is_that_of_connecting() -> None:
    settings = course_settings(lobby={"min_players": 2, "max_players": 100})
    names = [f"{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]
    async with open_port(settings) as port:
        sockets = [socket.create_connection(("127.0.0.1", port.gateway.port)) for _ in names]
        try:  # the loop has seen none of them so far
            for connection, name in zip(sockets, names, strict=True):
                connection.sendall(json.dumps(name).encode())
            await until(lambda: len(port.names) == len(names))
            assert port.names == names
        finally:
            for connection in sockets:
                connection.close()


# -- what a connection may cost


async def test_no_more_clients_of_one_address_without_a_name_than_allowed() -> None:
    settings = course_settings(limits={"max_unjoined": 3}, clocks={"join_ms": 60_000})
    patient = CourseTimes(name_ms=60_000)
    async with open_port(settings, patient) as port:
        silent = [await port.connect("x", "") for _ in range(8)]
        for wire in silent[3:]:
            assert await is_closed(wire)
        assert not any(wire.reader.at_eof() for wire in silent[:3])
        await port.connect("ann")
        await until(lambda: port.names == ["ann"])


async def test_no_more_connections_than_allowed() -> None:
    async with open_port(course_settings(limits={"max_connections": 2})) as port:
        await port.connect("ann")
        await port.connect("bo")
        await until(lambda: port.names == ["ann", "bo"])
        assert await is_closed(await port.connect("cy"))
        assert port.names == ["ann", "bo"]


async def test_client_that_never_reads_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it leaves unread is bounded, and closing does not wait for it for long."""
    monkeypatch.setattr(course_seat, "_CLOSE_S", 0.05)
    async with open_port(course_settings(limits={"max_unread": 65_536})) as port:
        deaf = socket.create_connection(("127.0.0.1", port.gateway.port))
        try:
            deaf.sendall(b'"deaf"')
            await until(lambda: port.names == ["deaf"])
            (seat,) = port.lobby.seats
            call = great_call()
            verdicts: list[Verdict] = []
            while Verdict.DISCONNECTED not in verdicts:
                answer = await seat.ask(call, 5)
                assert isinstance(answer, NoAnswer)
                verdicts.append(answer.verdict)
            assert len(verdicts) > 1
            assert set(verdicts[:-1]) == {Verdict.TIMEOUT}
        finally:
            deaf.close()


async def test_stop_does_not_wait_for_a_client_that_never_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(course_seat, "_CLOSE_S", 0.05)
    deaf = socket.socket()
    try:
        async with open_port() as port:
            deaf.connect(("127.0.0.1", port.gateway.port))
            deaf.sendall(b'"deaf"')
            await until(lambda: port.names == ["deaf"])
            (seat,) = port.lobby.seats
            await seat.ask(great_call(), 5)
    finally:
        deaf.close()


def great_call() -> TournamentEnd:
    """A call of several megabytes: a seat passes on as it is what a winner is told."""
    told: Any = "x" * 8_000_000
    params = TournamentEndParams.model_construct(tournament="t", won=told, winners=[], budget_ms=5)
    return TournamentEnd.model_construct(id="t:end", params=params)


# -- the port itself


class Nobody:
    """A lobby that nobody comes to."""

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        raise AssertionError(f"{seat} as {params.name}")

    def leave(self, seat: Seat) -> bool:
        raise AssertionError(f"{seat}")


async def test_port_in_use_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        gateway = CourseGateway(course_settings(), number, Nobody().admit, Nobody().leave)
        with pytest.raises(UserError, match=f"can't listen on 127.0.0.1 port {number}.*in use"):
            await gateway.start()
        await gateway.stop()


@pytest.mark.parametrize(
    ("section", "values", "told"),
    [
        ("game", {"rules": "classic", "board": "classic"}, r"game\.rules: .* know 'fish' only"),
        ("game", {"rules": {"ejected": "leave_blocking"}}, r"game\.rules: "),
        ("lobby", {"roster": "roster.toml"}, r"lobby\.roster: .* have no tokens"),
    ],
)
async def test_settings_that_the_courses_clients_can_not_play_with_are_refused(
    section: str, values: dict[str, object], told: str
) -> None:
    settings = course_settings(**{section: values})
    gateway = CourseGateway(settings, 0, Nobody().admit, Nobody().leave)
    with pytest.raises(UserError, match=told):
        await gateway.start()


async def test_turn_order_is_no_rule_that_clients_need_to_know() -> None:
    settings = course_settings(game={"rules": {"turn_order": "youngest_then_seats"}})
    async with open_port(settings) as port:
        assert port.gateway.port


async def test_stop_before_the_start_and_twice() -> None:
    gateway = CourseGateway(course_settings(), 0, Nobody().admit, Nobody().leave)
    await gateway.stop()
    with pytest.raises(RuntimeError):
        _ = gateway.port
    async with open_port() as port:
        wire = await port.connect("ann")
        await port.gateway.stop()
        await port.gateway.stop()
        assert await is_closed(wire)


# -- beside other players


async def test_course_clients_and_websocket_players_meet_in_one_tournament() -> None:
    settings = course_settings(game={"board": "5x5,holes=1,fish=1-4"})
    settings = settings.model_copy(
        update={
            "lobby": settings.lobby.model_copy(
                update={"min_players": 6, "max_players": 6, "wait_ms": 10_000}
            )
        }
    )
    lobby = Lobby(settings.lobby)
    sockets = WebSocketGateway(settings, lobby.admit, lobby.leave)
    course = CourseGateway(settings, 0, lobby.admit, lobby.leave, QUICK)
    await sockets.start()
    await course.start()
    try:
        async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
            playing: list[asyncio.Task[CourseWire | Wire]] = []
            scripts: list[CourseScript | Script] = [
                CourseScript("ann"),
                Script("web"),
                CourseScript("bo", depth=2),
                Script("ann#3"),
                CourseScript("ann"),
                CourseScript("ann", says("take-turn", "[[0,0],[0,0]]", after=1)),
            ]
            for number, script in enumerate(scripts, 1):
                port = sockets.port if isinstance(script, Script) else course.port
                playing.append(group.create_task(script.play(port)))
                await until(lambda: len(lobby.seats) == number)  # noqa: B023 - awaited here
            seats = await lobby.gather()
            result = await Manager(settings, seats, 3, NoLedger()).run()
    finally:
        await sockets.stop()
        await course.stop()
    assert [seat.name for seat in seats] == ["ann", "web", "bo", "ann#3", "ann#2", "ann#4"]
    assert {name: fault.verdict for name, fault in result.faults.items()} == {
        "ann#4": Verdict.ILLEGAL_ACTION
    }
    assert len(result.standings) == 6
    ends = [
        wire.called[-1] if isinstance(wire, CourseWire) else wire.received[-1]["method"]
        for wire in (task.result() for task in playing)
    ]
    assert ends == ["end", "tournament_end", "end", "tournament_end", "end", "take-turn"]
