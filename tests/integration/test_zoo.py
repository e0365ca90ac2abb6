"""The hostile zoo: each program ends as the table says, and costs nobody else anything."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from croupier_common.events import Ejected, event_from_json
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.record import Record, read_record
from croupier_common.strategies import make
from croupier_common.verdict import Fault
from croupier_server.settings import Settings
from croupier_server.zoo.check import check, visit_all
from croupier_server.zoo.programs import PLAYS_ON, PROGRAMS, Program
from support.hand import Hand
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.wire import Script, play, quick_settings, serving

pytestmark = pytest.mark.usefixtures("anywhere")

HABITATS = {"fish": "5x5,holes=2,fish=1-5", "classic": "classic"}


def settings(records: Path, rules: str = "fish") -> Settings:
    return quick_settings(
        records,
        game={"rules": rules, "board": HABITATS[rules]},
        limits={"max_surplus": 100, "max_pings": 50, "compression": True},
        clocks={"start_ms": 500},
        tournament={"seed": 1},
    )


def without(record: Record) -> list[dict[str, object]]:
    """The events if the ejected player had simply been absent from that moment on.

    All others play `first`; an ejected player's own moves before it are taken from the record.
    """
    header = record.header
    game = Game(header.game, header.board, [s.color for s in header.players], header.rules)
    out: dict[Color, Ejected] = {}
    at: dict[Color, int] = {}
    for line in record.lines[1:]:
        event = event_from_json(line.event)
        if isinstance(event, Ejected):
            out[event.color], at[event.color] = event, line.seq
    starters = {
        color: Fault(event.verdict, event.phase, "as recorded")
        for color, event in out.items()
        if event.phase == "game_start"
    }
    game.begin(starters)
    strategy = make("first", seed=0)
    while (request := game.request) is not None:
        color = request.color
        if color in out and at[color] == request.seq:
            game.fault(color, Fault(out[color].verdict, out[color].phase, "as recorded"))
        else:
            game.act(strategy.choose(request.state))
    return [numbered.event.to_json() for numbered in game.events]


def resident_kib() -> int:
    """How much memory this process holds, the zoo's own part too; 0 where nobody tells."""
    status = Path("/proc/self/statm")
    return int(status.read_text(encoding="ascii").split()[1]) * 4 if status.exists() else 0


def read(path: Path) -> Record:
    with path.open("rb") as lines:
        return read_record(lines)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
async def test_program_ends_as_it_should_and_the_others_play_as_without_it(
    program: Program, tmp_path: Path
) -> None:
    scripts = [Script("a"), program.script, Script("c")]
    arena = await play(settings(tmp_path), scripts)
    assert arena.wires[program.name].has_acted
    fault = arena.result.faults.get(program.name)
    end = PLAYS_ON if fault is None else fault.verdict.value
    assert end in program.ends, fault
    assert set(arena.result.faults) <= {program.name}
    record = read(tmp_path / "1" / "1.1.jsonl")
    assert [dict(line.event) for line in record.lines[1:]] == without(record)


@pytest.mark.alone
@pytest.mark.parametrize("rules", HABITATS)
async def test_whole_zoo_in_one_tournament_leaves_the_honest_in_peace(
    rules: str, tmp_path: Path
) -> None:
    honest = 4
    lobby = {"min_players": len(PROGRAMS) + honest, "max_players": len(PROGRAMS) + honest}
    arena = settings(tmp_path, rules)
    arena = arena.model_copy(
        update={"lobby": arena.lobby.model_copy(update={**lobby, "wait_ms": 30_000})}
    )
    before = resident_kib()
    async with serving(arena) as (port, server):
        visits = await visit_all(f"ws://127.0.0.1:{port}", PROGRAMS, honest)
        result = await server
    assert [visit for visit in visits if not visit.is_right] == []
    assert not any(name.startswith("honest") for name in result.faults)
    assert resident_kib() - before < 128 * 1024
    for visit in visits:
        fault = result.faults.get(visit.name)
        end = PLAYS_ON if fault is None else fault.verdict.value
        assert visit.program is None or visit.is_untried or end in visit.program.ends
    assert sum(visit.is_untried for visit in visits) < len(PROGRAMS) / 4
    for path in (tmp_path / "1").glob("*.jsonl"):
        read(path)


async def test_program_that_had_no_occasion_shows_nothing(tmp_path: Path) -> None:
    """On a single row nobody can ever move, so nobody's second move can be wrong."""
    arena = quick_settings(
        tmp_path,
        game={"board": "1x9"},
        lobby={"min_players": 4, "max_players": 4, "wait_ms": 20_000},
    )
    movers = [program for program in PROGRAMS if program.name in {"illegal-same", "two-replies"}]
    async with serving(arena) as (port, server):
        visits = await visit_all(f"ws://127.0.0.1:{port}", movers, 2)
        assert not (await server).faults
    assert [visit.is_untried for visit in visits] == [True, True, False, False]
    assert all(visit.is_right for visit in visits)


@pytest.mark.parametrize("crowd", [50, pytest.param(500, marks=pytest.mark.full)])
async def test_crowd_that_connects_and_never_joins_keeps_nobody_out(
    crowd: int, tmp_path: Path
) -> None:
    open_settings = quick_settings(
        tmp_path,
        lobby={"min_players": 2, "max_players": 2, "wait_ms": 20_000},
        limits={"max_unjoined": 0},
        clocks={"join_ms": 60_000},
    )
    async with serving(open_settings) as (port, server):
        address = ("127.0.0.1", port)  # connected to elsewhere: the server is in this very loop
        half_open = await asyncio.gather(
            *(asyncio.to_thread(socket.create_connection, address) for _ in range(crowd // 2))
        )
        idle: Sequence[Hand] = [Hand(port, f"idle{number}") for number in range(crowd // 2)]
        await asyncio.gather(*(hand.connect() for hand in idle))
        try:
            async with asyncio.TaskGroup() as group:
                for name in "ab":
                    group.create_task(Script(name).play(port))
            assert not (await server).faults
        finally:
            for raw in half_open:
                raw.close()
            for hand in idle:
                await hand.close()


@pytest.mark.parametrize("storms", [10, pytest.param(100, marks=pytest.mark.full)])
async def test_joining_and_leaving_before_the_start_leaves_no_trace(storms: int) -> None:
    lobby = quick_settings(lobby={"min_players": 2, "max_players": 2, "wait_ms": 20_000})
    async with serving(lobby) as (port, server):
        for _ in range(storms):
            hand = Hand(port, "restless")
            assert "result" in await hand.join()
            await hand.connection.close()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(Script(name).play(port)) for name in "ab"]
        wires = [task.result() for task in tasks]
        result = await server
    assert {name for _, name in result.standings} == {"a", "b"}
    assert [wire.close_code for wire in wires] == [1000, 1000]


def test_zoo_is_listed_by_the_command() -> None:
    done = CliRunner().invoke(check, ["ws://x", "--list"], standalone_mode=False)
    assert done.exception is None
    assert len(done.output.splitlines()) == len(PROGRAMS)
