"""The operator's port of a server that plays: what it says before, during and after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from croupier_common.session import CloseCode
from croupier_server.app import App
from croupier_server.errors import UserError
from croupier_server.settings import Settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.progress import TournamentResult
from support.hand import Hand
from support.wire import quick_settings

PATIENCE_S = 20


def settings(data: Path | str = "", **sections: Any) -> Settings:
    given: dict[str, Any] = {
        "storage": {"data": data, "resume_wait_ms": 5_000},
        "lobby": {"min_players": 4, "max_players": 4},
        "clocks": {"place_ms": 10_000, "move_ms": 10_000, "grace_ms": 10_000, "ack_ms": 5_000},
        "game": {"board": "4x4"},
        "tournament": {"name": "cup", "format": "round-robin", "seed": 3, "games_at_once": 1},
        "operations": {"port": 0},
    }
    for section, values in sections.items():
        given[section] = {**given.get(section, {}), **values}
    return quick_settings(**given)


class Server:
    """A server, and who looks at its operator's port."""

    def __init__(self, app: App, task: asyncio.Task[TournamentResult], port: int, url: str) -> None:
        self.app = app
        self.task = task
        self.port = port
        self.url = url

    async def get(self, path: str) -> httpx.Response:
        async with httpx.AsyncClient(base_url=self.url, verify=False) as client:
            return await client.get(path)

    async def reasons(self) -> dict[str, str]:
        """Why it is not ready; nothing if it is."""
        answer = await self.get("readyz")
        reasons: dict[str, str] = answer.json().get("reasons", {})
        assert answer.status_code == (503 if reasons else 200)
        return reasons

    async def metrics(self) -> dict[str, float]:
        lines = (await self.get("metrics")).text.splitlines()
        parts = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in parts}


@asynccontextmanager
async def server(given: Settings) -> AsyncGenerator[Server]:
    """A server; on leaving, it is stopped in the middle of whatever it does."""
    loop = asyncio.get_running_loop()
    port: asyncio.Future[int] = loop.create_future()
    url: asyncio.Future[str] = loop.create_future()
    app = App(given, listening=port.set_result, operations_listening=url.set_result)
    task = asyncio.create_task(app.run())
    await asyncio.wait({task, port}, return_when=asyncio.FIRST_COMPLETED)  # type: ignore[type-var]
    if task.done():
        await task
    try:
        yield Server(app, task, await port, await url)
    finally:
        task.cancel()
        await asyncio.wait({task})


async def sat_down(port: int, names: str) -> list[Hand]:
    hands = [Hand(port, name) for name in names]
    for hand in hands:
        assert "result" in await hand.join()
    return hands


async def first_asked(hands: list[Hand], method: str) -> list[Hand]:
    """Answer until somebody has answered this; the players at its table."""
    waiting = {asyncio.create_task(hand.until(method)): hand for hand in hands}
    async with asyncio.timeout(PATIENCE_S):
        done, rest = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    await asyncio.wait(rest)
    (asked,) = done
    call = asked.result()
    await waiting[asked].answer(call)
    players = [hand for hand in hands if any(c.get("method") == "game_start" for c in hand.heard)]
    assert len(players) == 2
    return players


async def test_metrics_and_health_of_a_tournament() -> None:
    async with server(settings(lobby={"min_players": 3, "max_players": 3})) as here:
        assert await here.reasons() == {}
        assert (await here.get("healthz")).json() == {"status": "ok"}
        hands = await sat_down(here.port, "ab")
        found = await here.metrics()
        assert found['croupier_connections{kind="websocket"}'] == 2
        hands += await sat_down(here.port, "c")
        playing = [asyncio.create_task(hand.play_on()) for hand in hands]
        most_waiting = 0.0
        async with asyncio.timeout(PATIENCE_S):
            while not here.task.done():
                try:
                    found = await here.metrics()
                except httpx.TransportError:  # it is over
                    break
                most_waiting = max(most_waiting, found["croupier_games_waiting"])
            result = await here.task
        await asyncio.wait(playing)
        for hand in hands:
            await hand.close()
    assert most_waiting > 0
    tally = here.app.watch.tally
    assert tally.started == tally.ended["played"] == len(result.games)
    assert sum(tally.lag.counts) > 0
    assert sum(tally.store.commits.counts) > 0
    with pytest.raises(httpx.ConnectError):
        await here.get("healthz")


async def test_port_is_there_while_the_rest_starts_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, opening = asyncio.Event(), Database.open

    async def slow(*arguments: Any, **options: Any) -> Database:
        await opened.wait()
        return await opening(*arguments, **options)

    monkeypatch.setattr(Database, "open", slow)
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    app = App(settings(tmp_path / "data"), operations_listening=url.set_result)
    task = asyncio.create_task(app.run())
    async with httpx.AsyncClient(base_url=await url, verify=False) as client:
        assert (await client.get("healthz")).status_code == 200
        answer = await client.get("readyz")
        assert (answer.status_code, answer.json()["reasons"]) == (503, {"server": "it is starting"})
        assert "croupier_games_running 0.0" in (await client.get("metrics")).text
        opened.set()
        async with asyncio.timeout(PATIENCE_S):
            while (await client.get("readyz")).status_code != 200:
                pass
    task.cancel()
    await asyncio.wait({task})


async def test_port_that_is_taken_is_told_and_nothing_is_begun(tmp_path: Path) -> None:
    async with server(settings()) as here:
        taken = int(here.url.rstrip("/").rpartition(":")[2])
        given = settings(tmp_path / "data", operations={"port": taken})
        with pytest.raises(UserError, match=rf"operations.port: .* port {taken}: address already"):
            await App(given).run()
    assert not (tmp_path / "data").exists()


async def test_drain_ends_the_game_that_runs_and_sends_the_others_back_later(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    given = settings(data, server={"drain_ms": 60_000})
    async with server(given) as here:
        hands = await sat_down(here.port, "abcd")
        players = await first_asked(hands, "place")
        others = [hand for hand in hands if hand not in players]
        draining = asyncio.create_task(here.app.drain())
        async with asyncio.timeout(PATIENCE_S):
            for other in others:
                await other.play_on()
                assert other.connection.close_code == CloseCode.RESTARTING
        assert list(await here.reasons()) == ["server"]
        assert (await here.get("healthz")).status_code == 200
        assert (await here.metrics())["croupier_draining"] == 1
        assert not draining.done()
        with pytest.raises(Exception, match="503"):  # nobody else is let in, by session or anew
            await others[0].join(again=True)
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(draining, *(player.play_on() for player in players))
        assert {hand.connection.close_code for hand in players} == {CloseCode.RESTARTING}
        assert here.app.watch.tally.ended["played"] == here.app.watch.tally.started == 1
        for hand in hands:
            await hand.close()
    async with await Database.look(data) as database:
        row = await database.read(lambda c: catalogue.find_tournament(c, "cup"))
    assert row is not None
    assert row.status == "running"
    async with server(given) as here:  # all are back, and nobody is blamed
        for hand in hands:
            hand.port = here.port
            assert "result" in await hand.join(again=True)
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(hand.play_on() for hand in hands))
            result = await here.task
        for hand in hands:
            await hand.close()
    assert not result.faults
    assert len(result.games) == 6 * 2


async def test_player_of_a_running_game_comes_back_in_a_drain_and_nobody_else_does(
    tmp_path: Path,
) -> None:
    async with server(settings(tmp_path, server={"drain_ms": 60_000})) as here:
        hands = await sat_down(here.port, "abcd")
        players = await first_asked(hands, "place")
        others = [hand for hand in hands if hand not in players]
        draining = asyncio.create_task(here.app.drain())
        async with asyncio.timeout(PATIENCE_S):
            for other in others:
                await other.play_on()
        players[0].drop()
        await players[0].connection.wait_closed()
        with pytest.raises(
            Exception, match=r"1012|503"
        ):  # while one is away, sessions are looked at
            await others[0].join(again=True)
        assert "result" in await players[0].join(again=True)
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(draining, *(player.play_on() for player in players))
        assert here.app.watch.tally.ended["played"] == 1
        assert not here.app.watch.tally.verdicts
        for hand in hands:
            await hand.close()


async def test_drain_ends_when_its_time_is_over_though_a_game_runs(tmp_path: Path) -> None:
    async with server(settings(tmp_path, server={"drain_ms": 300})) as here:
        hands = await sat_down(here.port, "abcd")
        await first_asked(hands, "place")
        async with asyncio.timeout(PATIENCE_S):
            await here.app.drain()
        assert here.app.watch.tally.running == 1
        for hand in hands:
            await hand.close()


async def test_drain_sends_away_who_waits_in_the_lobby_and_lets_nobody_in(tmp_path: Path) -> None:
    async with server(settings(tmp_path, server={"drain_ms": 60_000})) as here:
        (waiting,) = await sat_down(here.port, "a")
        async with asyncio.timeout(PATIENCE_S):
            await here.app.drain()
            await waiting.play_on()
        assert waiting.connection.close_code == CloseCode.RESTARTING
        assert waiting.connection.close_reason
        with pytest.raises(Exception, match="503"):
            await Hand(here.port, "b").connect()
        assert not here.task.done()
        await waiting.close()


async def test_drain_lets_a_game_of_practice_end_and_breaks_up_tables_that_wait() -> None:
    practice = {"enabled": True, "house": ["first"], "stays": True}
    given = settings(server={"drain_ms": 60_000}, practice=practice)
    async with server(given) as here:
        playing = Hand(here.port, "ada", room="practice:first")
        waiting = Hand(here.port, "bo", room="practice:human;table=friday")
        for hand in (playing, waiting):
            assert "result" in await hand.join()
        await playing.until("game_start")
        await playing.answer(playing.heard[-1])
        draining = asyncio.create_task(here.app.drain())
        async with asyncio.timeout(PATIENCE_S):
            await waiting.play_on()
            assert not draining.done()
            heard = await playing.play_on()
            await draining
        assert "tournament_end" in {call.get("method") for call in heard}
        assert playing.connection.close_code == CloseCode.DONE
        assert here.app.watch.tally.ended["played"] == 1
        for hand in (playing, waiting):
            await hand.close()


async def test_without_a_time_for_it_there_is_no_drain(tmp_path: Path) -> None:
    async with server(settings(tmp_path)) as here:
        await here.app.drain()
        assert await here.reasons() == {}
