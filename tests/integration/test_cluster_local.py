"""Programs and clients of the course's protocol in a cluster: its manager holds them itself."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from croupier_common.messages import (
    Events,
    EventsParams,
    GameStart,
    GameStartParams,
    TournamentStart,
    TournamentStartParams,
)
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.cluster.hand_over import take_over
from croupier_server.cluster.link import Link
from croupier_server.cluster.local_seats import LocalSeats, local_key
from croupier_server.cluster.manager_drain import ManagerDrain
from croupier_server.cluster.managing import run_manager
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.remote_seat import BeganAnew, Patience, RemoteSeat
from croupier_server.gateway.program import Program
from croupier_server.gateway.stdio_seat import StdioSeat
from croupier_server.heartbeat import Heartbeat
from croupier_server.seats import Answer, AwaySeat, Kind, NoAnswer, Seat
from croupier_server.settings import Settings
from croupier_server.tournament.progress import Progress, TournamentResult
from support.clustered import Roles, roles, run_clustered
from support.compose import free_ports
from support.course_wire import CourseScript, CourseWire, hangs_up, says
from support.databases import made_database
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.hosts import require_cluster
from support.stdio import command, processes_left, program
from support.wire import Host, Script, Wire, host, quick_settings

ROOT = "test.1"
PATIENCE_S = 30.0
RELAXED = {"join_ms": 10_000, "place_ms": 5_000, "move_ms": 5_000, "ack_ms": 5_000}


# -- one seat


class Managed:
    """A manager's end of the wire, and a worker's.

    Args:
        folder: for what programs note.
    """

    def __init__(self, manager: Link, worker: Link, folder: Path) -> None:
        self.manager = manager
        self.worker = worker
        self.folder = folder
        self.local = LocalSeats(manager, quick_settings())
        self.heartbeat = Heartbeat()
        self.started: list[StdioSeat] = []

    async def program(self, *switches: str) -> StdioSeat:
        """A program that was started now, in the place of any before it."""
        noting = program("p", self.folder, *switches)
        env = {**noting.env, "ASKED": str(self.folder / "asked")}
        settings = quick_settings(clocks=RELAXED)
        seat = await StdioSeat.start(replace(noting, env=env), settings, self.heartbeat.meter)
        self.started.append(seat)
        self.seat(seat)
        return seat

    def seat(self, seat: Seat) -> None:
        self.local.seat("t", "p", seat)

    def asked(self) -> list[str]:
        """What programs were asked, without their greetings."""
        noted = (self.folder / "asked").read_text(encoding="ascii").split()
        return [request for request in noted if request != "hello"]

    def remote(self, kind: Kind = "program", epoch: int = 0) -> RemoteSeat:
        """It, as a worker has it."""
        key, patience = local_key("t", "p", kind), Patience(resume_wait_s=math.inf)
        return RemoteSeat(self.worker, "p", key, kind=kind, epoch=epoch, patience=patience)


@asynccontextmanager
async def managed(url: str, folder: Path) -> AsyncGenerator[Managed]:
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
        manager = await Link.open(url, name="manager", root=ROOT)
        stack.push_async_callback(manager.close)
        worker = await Link.open(url, name="worker", root=ROOT)
        stack.push_async_callback(worker.close)
        at = Managed(manager, worker, folder)
        at.heartbeat.start()
        stack.callback(at.heartbeat.stop)
        try:
            yield at
        finally:
            await at.local.close()
            for seat in at.started:
                await seat.end()


def start(game: str = "1.1") -> GameStart:
    params = GameStartParams(
        game=game,
        you="red",
        players=[{"color": "red", "name": "p"}, {"color": "white", "name": "q"}],
        rules="fish",
        board=[[1]],
        budget_ms=1,
        budgets_ms={"place": 1, "move": 1},
    )
    return GameStart(id=f"{game}:0", params=params)


def turn(number: int, game: str = "1.1") -> TournamentStart:
    """A request in a game that has begun; what it says makes no difference here."""
    params = TournamentStartParams(tournament="t", players=["p"], budget_ms=1)
    return TournamentStart(id=f"{game}:{number}", params=params)


def event(number: int, game: str = "1.1") -> Events:
    entry: Any = {"seq": number, "event": {"kind": "skip", "color": "red"}}
    return Events(params=EventsParams(game=game, events=[entry]))


async def test_worker_asks_a_program_by_way_of_its_manager(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    async with managed(nats_server.url, tmp_path) as at:
        await at.program()
        seat = at.remote()
        answer = await seat.ask(start(), 5_000)
        assert isinstance(answer, Answer)
        assert answer.result is True
        assert answer.think_ms < 5_000
        await seat.tell(event(1))
        assert isinstance(await seat.ask(turn(1), 5_000), Answer)
        taken_over = at.remote(epoch=1)  # by a worker that asks the last request once more
        assert isinstance(await taken_over.ask(turn(1), 5_000), Answer)
        assert at.asked() == ["1.1:0", "1.1:1"]
        assert await taken_over.pardon()


async def test_time_out_of_a_program_is_decided_at_its_manager(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    async with managed(nats_server.url, tmp_path) as at:
        await at.program("silent", "game_start", "0")
        answer = await at.remote().ask(start(), 200)
        assert isinstance(answer, NoAnswer)
        assert answer.verdict is Verdict.TIMEOUT
        assert 200 <= answer.think_ms < 2_000


async def test_program_that_began_anew_is_asked_nothing_of_the_games_before(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    async with managed(nats_server.url, tmp_path) as at:
        await at.program()
        before = at.remote()
        assert isinstance(await before.ask(start(), 5_000), Answer)
        await at.program("crash", "tournament_start", "0")  # if it is asked what it does not know
        for seat in (before, at.remote(epoch=1)):  # a new worker can't know it better
            with pytest.raises(BeganAnew, match="p was started anew"):
                await seat.ask(turn(1), 5_000)
        assert isinstance(await at.remote(epoch=1).ask(start("1.1-2"), 5_000), Answer)


async def test_end_of_a_manager_is_told_to_nobody_as_the_end_of_its_programs(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    async with managed(nats_server.url, tmp_path) as at:
        first = await at.program("silent", "game_start", "0")
        seat = at.remote()
        asking = asyncio.create_task(seat.ask(start(), None))
        while "1.1:0" not in at.asked():  # noqa: ASYNC110 - another process tells it
            await asyncio.sleep(0.01)
        await at.local.close()
        await first.end()
        await at.program()
        answer = await asking
        assert isinstance(answer, Answer)
        assert answer.result is True


@pytest.mark.parametrize("kind", ["program", "course"])
async def test_who_is_not_back_is_absent_and_who_is_out_is_out(
    kind: Kind, nats_server: NatsServer, tmp_path: Path
) -> None:
    async with managed(nats_server.url, tmp_path) as at:
        away = AwaySeat("p", kind)
        at.seat(away)
        answer = await at.remote(kind).ask(turn(7), 5_000)
        assert answer == NoAnswer(Verdict.ABSENT, Verdict.ABSENT.when)
        away.dismiss(Fault(Verdict.TIMEOUT, Phase.MOVEMENT, "too late"))
        answer = await at.remote(kind).ask(turn(8), 5_000)
        assert answer == NoAnswer(Verdict.DISQUALIFIED, "out of the tournament: too late")


async def test_no_gateway_takes_over_what_a_manager_holds(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    async with managed(nats_server.url, tmp_path) as at:
        await at.program()
        assert isinstance(await at.remote().ask(start(), 5_000), Answer)
        assert await take_over(at.worker, local_key("t", "p", "program")) is None
        assert isinstance(await at.remote().ask(turn(1), 5_000), Answer)


# -- whole tournaments


Joined = Script | CourseScript


async def play(
    run: Host, settings: Settings, scripts: Sequence[Joined]
) -> tuple[TournamentResult, list[Wire | CourseWire]]:
    """A tournament of programs, which are in the settings, and others, who sign up in order."""
    (course_port,) = free_ports(1)
    server = settings.server.model_copy(update={"course_port": course_port})
    wanted = len(settings.lobby.programs) + len(settings.lobby.house) + len(scripts)
    numbers = {"min_players": wanted, "max_players": wanted, "wait_ms": 60_000}
    lobby = settings.lobby.model_copy(update=numbers)
    settings = settings.model_copy(update={"server": server, "lobby": lobby})
    listening: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        result = group.create_task(run.run(settings, listening.set_result, lambda _: None))
        port = await listening
        playing: list[asyncio.Task[Wire] | asyncio.Task[CourseWire]] = []
        for script in scripts:
            if isinstance(script, CourseScript):
                playing.append(group.create_task(connected(script, course_port)))
                continue
            joined = asyncio.Event()
            playing.append(group.create_task(script.play(port, joined)))
            await joined.wait()
    return result.result(), [task.result() for task in playing]


async def connected(script: CourseScript, port: int) -> CourseWire:
    return await script.play(port)


BAD: Mapping[str, Verdict] = {
    "silent": Verdict.TIMEOUT,
    "prints": Verdict.MALFORMED,
    "oversize": Verdict.OVERSIZE,
    "error": Verdict.ERROR_REPLY,
    "floods": Verdict.FLOOD,
    "crash": Verdict.DISCONNECTED,
}


def bad(habits: Sequence[str]) -> Sequence[Program]:
    return [Program(name=habit, command=command(habit)) for habit in habits]


async def test_programs_that_fail_get_their_verdicts_anywhere(
    anywhere: str, tmp_path: Path
) -> None:
    honest = [program(name, tmp_path) for name in ("a", "stubborn")]
    settings = quick_settings(
        clocks={**RELAXED, "move_ms": 1_500}, lobby={"programs": [*honest, *bad(list(BAD))]}
    )
    result, (web,) = await play(host, settings, [Script("web")])
    assert {name: fault.verdict for name, fault in result.faults.items()} == BAD, anywhere
    assert {fault.phase for fault in result.faults.values()} == {Phase.MOVEMENT}
    assert web.received[-1]["method"] == "tournament_end"
    assert processes_left(tmp_path) == []


async def test_clients_of_the_course_play_anywhere(anywhere: str) -> None:
    settings = quick_settings(
        clocks={**RELAXED, "move_ms": 1_500}, game={"board": "5x5,holes=1,fish=1-4"}
    )
    scripts: list[Joined] = [
        Script("web"),
        CourseScript("ann"),
        CourseScript("bo", says("take-turn", "[[0,0],[0,0]]", after=1)),
        CourseScript("cy", says("take-turn")),
        CourseScript("di", hangs_up("setup", saying="[1,")),
    ]
    result, wires = await play(host, settings, scripts)
    assert {name: fault.verdict for name, fault in result.faults.items()} == {
        "bo": Verdict.ILLEGAL_ACTION,
        "cy": Verdict.TIMEOUT,
        "di": Verdict.DISCONNECTED,
    }, anywhere
    ends = {wire.name: wire.called[-1] for wire in wires if isinstance(wire, CourseWire)}
    assert ends == {"ann": "end", "bo": "take-turn", "cy": "take-turn", "di": "setup"}


async def test_one_file_gives_the_same_standings_in_one_process_and_in_a_cluster(
    tmp_path: Path,
) -> None:
    require_cluster()
    programs = [
        Program(name="one", command=command("all options", "hello", "0")),
        *bad(["garbage"]),
        Program(name="two", command=command(), age=3),
    ]
    settings = quick_settings(
        clocks=RELAXED,
        lobby={"programs": programs, "house": ["h=greedy"], "ages": "declared"},
        tournament={"format": "swiss", "rounds": 2, "games_at_once": 4},
        game={"board": "4x5,fish=1-4"},
    )
    scripts: list[Joined] = [Script("web"), CourseScript("ann"), CourseScript("ann", depth=2)]
    alone, _ = await play(host, settings, scripts)
    async with NatsServer(tmp_path / "nats") as nats, made_database() as database:

        async def run(
            given: Settings, listening: Callable[[int], None], heard: Callable[[Progress], None]
        ) -> TournamentResult:
            return await run_clustered(nats.url, database, given, listening, heard)

        clustered, _ = await play(Host(run), settings, scripts)
    assert set(alone.faults) == {"garbage"}
    assert clustered.to_json() == alone.to_json()


# -- managers that come and go


@asynccontextmanager
async def manager(
    cluster: Roles, settings: Settings, drain: ManagerDrain | None = None
) -> AsyncGenerator[asyncio.Task[TournamentResult | None]]:
    """A manager that is active; it ends with this."""
    active = asyncio.Event()

    def ready(line: str) -> None:
        if line == "active":
            active.set()

    task = asyncio.create_task(run_manager([cluster.settings(settings)], ready, drain=drain))
    await active.wait()
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def noted(path: Path, count: int) -> None:
    """Wait until a program has noted so many requests."""
    while not path.exists() or len(path.read_text().split()) < count:  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("is_drained", [False, True])
async def test_next_manager_starts_programs_anew_and_blames_nobody(
    is_drained: bool, tmp_path: Path
) -> None:
    """A game that its manager did not let end is played again, without a client of the course."""
    require_cluster()
    asked = tmp_path / "asked"
    slow = program("slow", tmp_path, "slow", "move", "0")
    slow = replace(slow, env={**slow.env, "ASKED": str(asked)})
    (course_port,) = free_ports(1)
    numbers = {"min_players": 4, "max_players": 4, "wait_ms": 60_000}
    settings = quick_settings(
        server={"course_port": course_port},
        clocks=RELAXED,
        lobby={"programs": [slow, program("quick", tmp_path)], **numbers},
        game={"board": "5x5,fish=1-4"},
    )
    async with (
        asyncio.timeout(PATIENCE_S),
        NatsServer(tmp_path / "nats") as nats,
        made_database() as database,
        roles(nats.url, database) as cluster,
        asyncio.TaskGroup() as group,
    ):
        port = await cluster.gateway(settings)
        _ = cluster.worker(settings)
        drain = ManagerDrain(PATIENCE_S)
        async with manager(cluster, settings, drain):
            joined = asyncio.Event()
            web = group.create_task(Script("web").play(port, joined))
            await joined.wait()
            ann = group.create_task(connected(CourseScript("ann"), course_port))
            await noted(asked, 7)  # hello, two starts, two placements, two moves
            if is_drained:
                await drain.run()
        async with manager(cluster, settings) as second:
            result = await second
    assert result is not None
    assert not result.faults
    ((_, played),) = result.games
    assert played.verdicts == ({} if is_drained else {"ann": Verdict.ABSENT})
    started = [call for call in web.result().received if call.get("method") == "game_start"]
    assert [call["params"]["game"] for call in started] == ["1.1", "1.1-2"][: 2 - is_drained]
    assert "end" not in ann.result().called
    assert processes_left(tmp_path) == []
