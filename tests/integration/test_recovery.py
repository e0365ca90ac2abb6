"""Restarts, late players, dead processes: nobody pays for what is not its own fault."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from croupier_common.messages import TournamentStart
from croupier_server.app import App
from croupier_server.errors import NotEnoughPlayers, UserError
from croupier_server.gateway.house_seat import HousePool
from croupier_server.gateway.program import Program
from croupier_server.roster import Roster
from croupier_server.seats import Answer, Call, NoAnswer
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.ledger import NoLedger, Order
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.progress import GameOver, Progress
from integration.test_resume import (
    PATIENCE_S,
    records,
    sat_down,
    server,
    settings,
    to_the_first_move,
)
from support.hand import Hand
from support.local_seat import LocalSeat
from support.needs import require
from support.stdio import command
from support.wire import Call as WireCall
from support.wire import Script, Wire, quick_settings

# -- restarts


async def test_server_that_stops_in_peace_tells_players_to_come_back(tmp_path: Path) -> None:
    given = settings(tmp_path / "data")
    async with server(given) as first:
        hands = await sat_down(first.port, "ab")
        await to_the_first_move(hands)
    for hand in hands:
        await hand.connection.wait_closed()
        assert hand.connection.close_code == 1012
    async with server(quick_settings(lobby={"min_players": 2, "wait_ms": 9_000})) as lobby:
        hands = await sat_down(lobby.port, "a")
    await hands[0].connection.wait_closed()
    assert hands[0].connection.close_code == 1001  # there is nothing to come back to


async def test_restart_leaves_out_programs_that_were_ejected(tmp_path: Path) -> None:
    bad = Program(name="bad", command=command("garbage", "place"), log=tmp_path / "bad.log")
    given = settings(
        tmp_path / "data", 3, lobby={"programs": [bad], "min_players": 3, "max_players": 3}
    )
    async with server(given) as first:
        hands = await sat_down(first.port, "ab")
        await to_the_first_move(hands)
    async with server(given) as second:
        for hand in hands:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True)
        await asyncio.gather(*(hand.play_on() for hand in hands))
        result = await second.task
    assert {name: fault.verdict for name, fault in result.faults.items()} == {"bad": "malformed"}


async def test_player_that_began_anew_gets_its_games_from_the_start(tmp_path: Path) -> None:
    """By its token it has its place again, but it knows nothing of the rules of the game."""
    path = tmp_path / "roster.toml"
    Roster([]).with_token("a", "secret a").with_token("b", "secret b").write(path)
    given = settings(
        tmp_path / "data",
        lobby={"roster": path, "min_players": 2, "max_players": 2},
        game={"rules": "classic", "board": "6x6,fish=1-3"},
    )
    async with server(given) as first:
        hands = [Hand(first.port, name, token=f"secret {name}") for name in "ab"]
        for hand in hands:
            await hand.join()
        await to_the_first_move(hands)
    for hand in hands:
        await hand.close()
    async with server(given) as second:
        new = [Hand(second.port, name, token=f"secret {name}") for name in "ab"]
        for hand in new:
            await hand.join()
        await to_the_first_move(new)
    assert set(await records(tmp_path / "data")) == {"1.1", "1.1-2"}
    async with server(given) as third:  # the session that it got by its token is good as well
        for hand in new:
            await hand.close()
            hand.port = third.port
            assert "result" in await hand.join(again=True)
        await asyncio.gather(*(hand.play_on() for hand in new))
        result = await third.task
        for hand in [*hands, *new]:
            await hand.close()
    assert not result.faults


async def test_waiting_for_players_ends_when_all_are_withdrawn(tmp_path: Path) -> None:
    where = tmp_path / "data"
    given = settings(where, storage={"data": where, "resume_wait_ms": 50})
    async with server(given) as first:
        hands = await sat_down(first.port, "ab")
        await to_the_first_move(hands)
    async with server(given) as second, asyncio.timeout(PATIENCE_S):
        async with await Database.look(where) as database:
            for name in "ab":
                argument = {"about": name, "reason": ""}
                await database.run(
                    lambda c, argument=argument: catalogue.give_order(  # type: ignore[misc]
                        c, 1, "withdraw", argument, by="me"
                    )
                )
        result = await second.task
    assert result.winners == ()
    assert {fault.verdict for fault in result.faults.values()} == {"withdrawn"}


async def test_lobby_that_nobody_came_to_can_be_opened_with_other_settings(tmp_path: Path) -> None:
    where = tmp_path / "data"
    lobby = {"min_players": 2, "max_players": 2, "wait_ms": 20, "periods": 1, "house": ["a=first"]}
    with pytest.raises(NotEnoughPlayers):
        await App(settings(where, lobby=lobby)).run()
    other = settings(where, lobby={**lobby, "house": ["b=first", "c=first"]}, game={"board": "3x7"})
    result = await App(other).run()
    assert sorted(name for _, name in result.standings) == ["b", "c"]
    assert (await records(where))["1.1"][1].header.board.rows == 3


async def test_of_two_tournaments_the_one_that_is_over_is_left_alone(tmp_path: Path) -> None:
    lobby = {"min_players": 2, "max_players": 2, "house": ["b=first", "c=first"]}
    red = settings(tmp_path / "data", lobby=lobby, tournament={"name": "red"})
    blue = settings(tmp_path / "data", lobby=lobby, tournament={"name": "blue"})
    await App(red).run()
    both = App(red, blue)
    with pytest.raises(UserError, match="red is over"):
        await both.run()
    assert set(both.results) == {"blue"}


async def test_ladder_does_not_pair_who_is_absent(tmp_path: Path) -> None:
    where = tmp_path / "data"
    given = settings(
        where,
        3,
        storage={"data": where, "resume_wait_ms": 50},
        tournament={"format": "ladder", "games_at_once": 2},
    )
    async with server(given) as first:
        hands = await sat_down(first.port, "abc")
        await to_the_first_move(hands)
    async with server(given) as second:
        playing: list[asyncio.Task[Any]] = []
        for hand in hands[:2]:
            await hand.close()
            hand.port = second.port
            await hand.join(again=True)
            playing.append(asyncio.create_task(hand.play_on()))
        async with asyncio.timeout(PATIENCE_S):
            while len([n for n in second.news if isinstance(n, GameOver)]) < 8:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    await asyncio.gather(*playing)
    for hand in hands:
        await hand.close()
    kinds = [news.result.kind for news in second.news if isinstance(news, GameOver)]
    assert kinds.count("forfeit") <= 2


# -- late players


class SlowToStart(LocalSeat):
    """Takes its time to accept the start of a tournament."""

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        if isinstance(call, TournamentStart):
            await asyncio.sleep(0.1)
            assert not [asked for asked in self.asked if not asked.endswith(":start")]
        return await super().ask(call, budget_ms)


async def test_late_player_is_paired_only_once_it_has_accepted_the_start() -> None:
    given = quick_settings(tournament={"format": "ladder"}, game={"board": "4x4"})
    news: list[Progress] = []
    manager = Manager(
        given, [LocalSeat("a"), LocalSeat("b"), LocalSeat("c")], 7, NoLedger(), news.append
    )
    running = asyncio.create_task(manager.run())
    late = SlowToStart("late")
    await asyncio.sleep(0)
    manager.enter("late", late)
    async with asyncio.timeout(PATIENCE_S):
        while not any(isinstance(n, GameOver) and "late" in n.pairing.players for n in news):
            await asyncio.sleep(0.005)
            assert not running.done()
    assert late.asked[0].endswith(":start")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


# -- orders


class Replays(NoLedger):
    """Orders a replay of the first game once it is over, and is slow to write that down."""

    def __init__(self, over: asyncio.Event, game: str) -> None:
        self.over = over
        self.game = game
        self.answers: list[str] = []

    async def orders(self) -> Sequence[Order]:
        if self.answers:
            return ()
        await self.over.wait()
        return (Order(1, "replay", self.game),)

    async def reopen(self, game: str) -> None:
        await asyncio.sleep(0.2)  # the last game ends meanwhile

    async def answer(self, order: Order, outcome: str) -> None:
        self.answers.append(outcome)


@pytest.mark.parametrize("format_name", ["round-robin", "knockout"])
async def test_replay_that_meets_the_last_game_is_played_or_refused_but_not_lost(
    format_name: str,
) -> None:
    over = asyncio.Event()
    game = "1.1.1" if format_name == "round-robin" else "1.1"
    ledger = Replays(over, game)
    starts: list[str] = []

    def progress(news: Progress) -> None:
        if isinstance(news, GameOver):
            starts.append(news.pairing.game)
            over.set()

    given = quick_settings(
        tournament={"format": format_name, "games_at_once": 1}, game={"board": "5x5"}
    )
    seats = [LocalSeat(name) for name in "abcdef"]
    async with asyncio.timeout(PATIENCE_S):
        result = await Manager(given, seats, 7, ledger, progress).run()
    (answer,) = ledger.answers
    if answer == "done; it is played again":
        assert starts.count(game) == 2
    else:
        assert answer.startswith("refused: ")
        assert starts.count(game) == 1
    assert len(result.games) == len({pairing.game for pairing, _ in result.games})
    assert {pairing.game for pairing, _ in result.games} == set(starts)


# -- dead processes, and players without a clock


async def test_house_players_outlive_a_killed_process() -> None:
    require("linux", sys.platform == "linux", "there is no /proc")
    killed: list[int] = []

    def kill_one(news: Progress) -> None:
        if isinstance(news, GameOver) and not killed:
            for entry in Path("/proc").iterdir():
                with suppress(OSError, ValueError):
                    stat = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                    line = (entry / "cmdline").read_bytes()
                    if int(stat[1]) == os.getpid() and b"spawn_main" in line:
                        os.kill(int(entry.name), signal.SIGKILL)
                        killed.append(int(entry.name))

    lobby = {"house": ["a=greedy", "b=first", "c=random"], "min_players": 3, "max_players": 3}
    tournament = {"format": "round-robin", "games_at_once": 1}
    result = await App(
        quick_settings(lobby=lobby, tournament=tournament, game={"board": "4x4"}),
        progress=kill_one,
    ).run()
    assert killed
    assert {one.kind for _, one in result.games} == {"played"}


async def test_pool_may_be_closed_before_and_after_it_was_used() -> None:
    pool = HousePool()
    pool.close()
    pool.close()


@pytest.mark.parametrize("method", ["place", "tournament_end"])
async def test_player_without_a_clock_that_leaves_holds_up_nobody(method: str) -> None:
    async def leaves(wire: Wire, call: WireCall) -> bool:
        if call["method"] != method:
            return False
        wire.connection.transport.abort()
        return True

    given = quick_settings(
        clocks={"no_clock": ["person"], "grace_ms": 200},
        lobby={"min_players": 2, "max_players": 2},
        game={"board": "4x4"},
    )
    async with server(given) as running, asyncio.timeout(PATIENCE_S):
        await asyncio.gather(
            Script("person", leaves).play(running.port), Script("b").play(running.port)
        )
        result = await running.task
    assert result.faults["person"].verdict == "disconnected"


async def test_player_without_a_clock_may_be_away_for_the_grace_and_think_on() -> None:
    given = quick_settings(
        clocks={"no_clock": ["person"], "grace_ms": 2_000},
        lobby={"min_players": 2, "max_players": 2},
        game={"board": "4x4"},
    )
    async with server(given) as running:
        (person,) = await sat_down(running.port, ["person"])  # type: ignore[arg-type]
        other = asyncio.create_task(Script("b").play(running.port))
        await person.until("place")
        person.drop()
        await asyncio.sleep(0.05)
        await person.join(again=True)
        call = await person.until("place")
        await asyncio.sleep(2.2)  # longer than the grace
        await person.answer(call)
        await person.play_on()
        result = await running.task
        await other
        await person.close()
    assert not result.faults
