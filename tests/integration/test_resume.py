"""A server that is started again in the middle of a tournament: who goes on, and with what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from croupier_common.record import Record, read_record
from croupier_common.strategies import make
from croupier_server.app import App
from croupier_server.errors import UserError
from croupier_server.gateway.house_seat import HousePool
from croupier_server.gateway.program import Program
from croupier_server.roster import Roster
from croupier_server.settings import Settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.ledger import DatabaseLedger
from croupier_server.tournament.progress import GameOver, GameStarts, Progress, TournamentResult
from croupier_server.turn_call import TurnCall
from support.databases import where as where  # noqa: PLC0414 - a fixture
from support.hand import Hand, events_of
from support.stdio import command
from support.wire import Call, quick_settings

PATIENCE_S = 20


def settings(where: Path | str, players: int = 2, **sections: Any) -> Settings:
    place = {"data": where} if isinstance(where, Path) else {"url": where, "data": ""}
    given: dict[str, Any] = {
        "storage": {**place, "resume_wait_ms": 300},
        "lobby": {"min_players": players, "max_players": players},
        "clocks": {"place_ms": 5_000, "move_ms": 5_000, "grace_ms": 5_000},
        "game": {"board": "4x4"},
    }
    for section, values in sections.items():
        given[section] = {**given.get(section, {}), **values}
    return quick_settings(**given)


class Running:
    """A server that plays, until it is left."""

    def __init__(self, task: asyncio.Task[TournamentResult], port: int, app: App) -> None:
        self.task = task
        self.port = port
        self.app = app
        self.news: list[Progress] = []


@asynccontextmanager
async def server(given: Settings) -> AsyncGenerator[Running]:
    """A server; on leaving, it is gone in the middle of whatever it does."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    news: list[Progress] = []
    app = App(given, listening=port.set_result, progress=news.append)
    task = asyncio.create_task(app.run())
    await asyncio.wait({task, port}, return_when=asyncio.FIRST_COMPLETED)  # type: ignore[type-var]
    if task.done():
        await task
    running = Running(task, await port, app)
    running.news = news
    try:
        yield running
    finally:
        task.cancel()
        await asyncio.wait({task})


async def sat_down(port: int, names: str, **join: object) -> list[Hand]:
    hands = [Hand(port, name, **join) for name in names]
    for hand in hands:
        await hand.join()
    return hands


async def to_the_first_move(hands: Sequence[Hand]) -> tuple[Hand, Call]:
    """Play until somebody is asked for a move; who, and the open request."""
    asked: asyncio.Future[tuple[Hand, Call]] = asyncio.get_running_loop().create_future()

    async def play(hand: Hand) -> None:
        call = await hand.until("move")
        if not asked.done():
            asked.set_result((hand, call))

    tasks = [asyncio.create_task(play(hand)) for hand in hands]
    async with asyncio.timeout(PATIENCE_S):
        found = await asked
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return found


async def records(where: Path | str) -> dict[str, tuple[str, Record]]:
    """The games by name: how they stand, and their records."""
    async with await Database.look(where) as database:
        rows = await database.run(lambda c: catalogue.games(c, 1))
        found: dict[str, tuple[str, Record]] = {}
        for row in rows:
            lines = await database.run(lambda c, row=row: catalogue.lines(c, row.id))  # type: ignore[misc]
            record = read_record((line.encode() for line in lines), unfinished=True)
            found[row.name] = (row.status, record)
        return found


async def test_open_request_is_asked_again_with_its_id_and_full_budget(where: Path | str) -> None:
    given = settings(where, clocks={"bank_ms": 50_000})
    async with server(given) as first:
        hands = await sat_down(first.port, "ab")
        mover, call = await to_the_first_move(hands)
    async with server(given) as second:
        for hand in hands:
            await hand.close()
            hand.port = second.port
            answer = await hand.join(again=True)
            assert answer["result"]["name"] == hand.name
        again = await mover.until("move")
        assert again["id"] == call["id"]
        for name in ("state", "budget_ms", "bank_ms", "events", "you"):
            assert again["params"][name] == call["params"][name]
        await mover.answer(again)
        await asyncio.gather(*(hand.play_on() for hand in hands))
        result = await second.task
    assert not result.faults
    ((status, record),) = (await records(where)).values()
    assert status == "finished"
    assert not record.is_interrupted


async def test_who_listens_hears_the_events_that_it_missed(where: Path | str) -> None:
    given = settings(where)
    async with server(given) as first:
        hands = await sat_down(first.port, "ab", events=True)
        _, call = await to_the_first_move(hands)
    before = int(call["id"].rpartition(":")[2]) - 1
    async with server(given) as second:
        for hand in hands:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True, last_event={"1.1": before - 3})
        heard = await asyncio.gather(*(hand.play_on() for hand in hands))
        await second.task
    for calls in heard:
        numbers = [entry["seq"] for entry in events_of(calls)]
        assert numbers == list(range(before - 2, numbers[-1] + 1))


async def test_who_is_not_back_is_absent_and_no_fault_of_its_own(where: Path | str) -> None:
    given = settings(where, 3, game={"board": "5x5"})
    async with server(given) as first:
        hands = await sat_down(first.port, "abc")
        await to_the_first_move(hands)
    await hands[1].close()
    async with server(given) as second:
        here = [hands[0], hands[2]]
        for hand in here:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True)
        await asyncio.gather(*(hand.play_on() for hand in here))
        result = await second.task
    assert not result.faults
    ((_, game),) = result.games
    assert game.verdicts == {"b": "absent"}
    assert "b" not in result.winners


async def test_absent_player_that_comes_back_plays_its_next_games(where: Path | str) -> None:
    given = settings(
        where, 3, tournament={"format": "round-robin", "games_at_once": 1, "ejection": "game"}
    )
    async with server(given) as first:
        hands = await sat_down(first.port, "abc")
        await to_the_first_move(hands)
        (starts,) = [news for news in first.news if isinstance(news, GameStarts)]
    absent = next(hand for hand in hands if hand.name == starts.pairing.players[0])
    others = [hand for hand in hands if hand is not absent]
    async with server(given) as second, asyncio.TaskGroup() as group:
        for hand in others:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True)
        waiting = [group.create_task(hand.until("move")) for hand in others]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        await absent.close()
        absent.port = second.port
        await absent.join(again=True)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        for hand in others:
            for call in [c for c in hand.heard[-1:] if "id" in c and c.get("method") == "move"]:
                await hand.answer(call)
        await asyncio.gather(*(hand.play_on() for hand in hands))
        result = await second.task
    kinds = [(one.kind, one.verdicts.get(absent.name)) for _, one in result.games]
    assert ("played", "absent") in kinds
    assert not result.faults
    mine = [one for _, one in result.games if absent.name in one.players]
    assert any(one.kind == "played" and not one.verdicts for one in mine)


async def test_program_began_anew_so_its_game_does_too(where: Path | str, tmp_path: Path) -> None:
    slow = Program(name="prog", command=command("slow", "move"), log=tmp_path / "prog.log")
    given = settings(where, lobby={"programs": [slow], "min_players": 2, "max_players": 2})
    async with server(given) as first:
        (hand,) = await sat_down(first.port, "a")
        await to_the_first_move([hand])
    async with server(given) as second:
        await hand.close()
        hand.port = second.port
        await hand.join(again=True)
        await hand.play_on()
        result = await second.task
    assert not result.faults
    found = await records(where)
    assert {name: status for name, (status, _) in found.items()} == {
        "1.1": "interrupted",
        "1.1-2": "finished",
    }
    one, two = (record.header for _, record in found.values())
    assert (one.seed, one.board, one.players) == (two.seed, two.board, two.players)


async def test_entrant_of_a_roster_comes_back_by_its_token_without_a_session(
    where: Path | str, tmp_path: Path
) -> None:
    roster = Roster([]).with_token("a", "token of a").with_token("b", "token of b")
    path = tmp_path / "roster.toml"
    roster.write(path)
    given = settings(where, lobby={"roster": path, "min_players": 2, "max_players": 2})
    async with server(given) as first:
        hands = [Hand(first.port, name, token=f"token of {name}") for name in "ab"]
        for hand in hands:
            await hand.join()
        await to_the_first_move(hands)
    async with server(given) as second:
        stranger = Hand(second.port, "a", token="token of b")
        assert "error" in await stranger.join()
        for hand in hands:
            await hand.close()
            hand.port = second.port
            assert "result" in await hand.join()
        await asyncio.gather(*(hand.play_on() for hand in hands))
        result = await second.task
        await stranger.close()
    assert not result.faults


async def test_nobody_takes_the_place_of_one_who_is_away(where: Path | str) -> None:
    given = settings(where)
    async with server(given) as first:
        hands = await sat_down(first.port, "ab")
        await to_the_first_move(hands)
    async with server(given) as second:
        for name in "abc":
            stranger = Hand(second.port, name)
            answer = await stranger.join()
            assert "has started" in answer["error"]["message"]
            await stranger.close()
        for hand in hands:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True)
        await asyncio.gather(*(hand.play_on() for hand in hands))
        assert not (await second.task).faults


async def test_ejected_player_hears_why_after_the_restart_and_stays_out(where: Path | str) -> None:
    given = settings(where, 3, game={"board": "5x5"})
    async with server(given) as first:
        hands = await sat_down(first.port, "abc")
        mover, call = await to_the_first_move(hands)
        await mover.send({"jsonrpc": "2.0", "id": call["id"], "result": "nonsense"})
        assert (await mover.until("ejected"))["params"]["verdict"] == "malformed"
    async with server(given) as second:
        others = [hand for hand in hands if hand is not mover]
        for hand in others:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True)
        await mover.close()
        mover.port = second.port
        await mover.join(again=True)
        heard = await asyncio.gather(*(hand.play_on() for hand in [mover, *others]))
        result = await second.task
    assert set(result.faults) == {mover.name}
    assert result.faults[mover.name].verdict == "malformed"
    assert mover.connection.close_code == 4000
    assert not [c for c in heard[0] if c.get("method") == "move"]


async def test_course_of_results_is_the_same_as_without_the_restart(where: Path | str) -> None:
    lobby = {"house": ["a=greedy", "b=random", "c=first"], "min_players": 3, "max_players": 3}
    tournament = {"format": "round-robin", "table": 3, "games_at_once": 1}
    given = settings(where, 3, lobby=lobby, tournament=tournament)
    async with server(given) as first:
        async with asyncio.timeout(PATIENCE_S):
            while not [n for n in first.news if isinstance(n, GameOver)]:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    async with server(given) as second:
        resumed = await second.task
    undisturbed = await App(
        quick_settings(lobby=lobby, tournament=tournament, game={"board": "4x4"})
    ).run()
    assert resumed.to_json() == undisturbed.to_json()


@pytest.mark.parametrize("format_name", ["knockout", "round-robin", "swiss"])
async def test_tournament_goes_on_from_any_point(
    where: Path | str, format_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after each game in turn: in the end as if it had never been."""

    async def choose(_pool: HousePool, spec: str, seed: int, name: str, call: TurnCall) -> object:
        strategy = make(spec, seed=seed, labels=[name, call.request.game])
        return strategy.choose(call.request.state).to_json()

    # here instead of in processes, which would take most of the time to start
    monkeypatch.setattr(HousePool, "choose", choose)
    lobby = {
        "house": ["a=greedy", "b=random", "c=first", "d=minimax:1", "e=greedy"],
        "min_players": 5,
        "max_players": 5,
    }
    tournament = {"format": format_name, "games_at_once": 1, "name": "t"}
    given = settings(where, 5, lobby=lobby, tournament=tournament)
    restarts = 0
    while (kept := await result_of(where)) is None:
        async with server(given) as running:
            news = running.news
            while not (running.task.done() or any(isinstance(n, GameOver) for n in news)):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        restarts += 1
    undisturbed = await App(
        quick_settings(lobby=lobby, tournament=tournament, game={"board": "4x4"})
    ).run()
    assert restarts > 2
    assert kept == undisturbed.to_json()


async def result_of(where: Path | str) -> object:
    """The result that the database has, once there is one."""
    try:
        async with await Database.look(where) as database:
            (row,) = await database.run(catalogue.tournaments)
    except UserError:  # there is no database yet
        return None
    return row.result


async def test_tournament_that_was_over_ends_without_waiting_for_anybody(
    where: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = settings(where, 3, lobby={"house": ["h=first"]})

    async def hang(_self: DatabaseLedger, _result: object) -> None:
        await asyncio.get_running_loop().create_future()

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseLedger, "finish", hang)
        async with server(given) as first:
            hands = await sat_down(first.port, "ab")
            await asyncio.gather(*(hand.play_on() for hand in hands))
    assert all(hand.heard[-1]["method"] == "tournament_end" for hand in hands)
    async with server(given) as second, asyncio.timeout(PATIENCE_S):
        result = await second.task
    assert not result.faults
    assert await result_of(where) == result.to_json()


async def test_start_that_was_not_told_to_all_is_told_again(
    where: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = settings(where)

    async def hang(_self: DatabaseLedger, _pairings: object) -> None:
        await asyncio.get_running_loop().create_future()

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseLedger, "issue", hang)
        async with server(given) as first:
            hands = await sat_down(first.port, "ab")
            for hand in hands:
                await hand.answer(await hand.until("tournament_start"))
    async with server(given) as second:
        for hand in hands:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True)
        heard = await asyncio.gather(*(hand.play_on() for hand in hands))
        assert not (await second.task).faults
    assert all(calls[0]["method"] == "tournament_start" for calls in heard)
