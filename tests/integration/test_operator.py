"""The operator's pages of a server that plays: orders, verdicts and lag, in one process with it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from croupier_common.session import CloseCode
from croupier_server.app import App
from croupier_server.errors import StoppedByOrder
from croupier_server.roster import Roster, new_token
from croupier_server.settings import Settings
from croupier_server.tournament.progress import (
    GameOver,
    GameStarts,
    Progress,
    TournamentResult,
)
from support.operating import Operator, tokened
from support.wire import Call, Script, Wire, quick_settings

PATIENCE_S = 20
PAGE = "/operator/t/test"


@dataclass
class Event:
    """A tournament of three whose moves wait for a turnstile, and its operator."""

    task: asyncio.Task[TournamentResult]
    boss: Operator
    port: int
    news: list[Progress]
    open: asyncio.Event = field(default_factory=asyncio.Event)
    visits: list[asyncio.Task[Wire]] = field(default_factory=list[asyncio.Task[Wire]])

    async def join(self, name: str, token: str | None = None) -> None:
        """Have a player join."""

        async def turnstile(_wire: Wire, call: Call) -> bool:
            if call["method"] == "move":
                await self.open.wait()
            return False

        joined = asyncio.Event()
        options = {} if token is None else {"token": token}
        script = Script(name, turnstile, options)
        self.visits.append(asyncio.create_task(script.play(self.port, joined)))
        await joined.wait()

    async def until(self, count: int, kind: type[Progress]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len([n for n in self.news if isinstance(n, kind)]) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def settings(data: Path, **lobby: object) -> Settings:
    return quick_settings(
        storage={"data": data},
        lobby={"min_players": 3, "max_players": 3, **lobby},
        clocks={"place_ms": 20_000, "move_ms": 20_000},
        tournament={"format": "round-robin", "games_at_once": 1},
        game={"board": "4x4"},
        web={"port": 0},
    )


@asynccontextmanager
async def event(given: Settings, names: str = "abc") -> AsyncGenerator[Event]:
    """A server with pages, whose operator is signed in."""
    assert given.storage.data is not None
    token = tokened(given.storage.data)
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    pages: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    news: list[Progress] = []
    server = App(
        given, listening=port.set_result, web_listening=pages.set_result, progress=news.append
    )
    task = asyncio.create_task(server.run())
    try:
        async with httpx.AsyncClient(base_url=(await pages).rstrip("/")) as client:
            running = Event(task, Operator(client, token), await port, news)
            await running.boss.sign_in()
            try:
                for name in names:
                    await running.join(name)
                yield running
                await asyncio.wait(running.visits or [task], timeout=PATIENCE_S)
            finally:
                for visit in running.visits:
                    visit.cancel()
                if running.visits:
                    await asyncio.wait(running.visits)
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_lobby_is_shown_as_it_fills_and_who_is_removed_is_told(tmp_path: Path) -> None:
    async with event(settings(tmp_path), "a") as running:
        boss = running.boss
        page = await boss.get(PAGE)
        assert signed_up(page) == ["a"]
        assert "1 signed up, of the 3 that it takes." in page.text
        await running.join("b<i>")
        assert signed_up(await boss.get(f"{PAGE}/now")) == ["a", "b&lt;i&gt;"]
        told = await boss.order("test", "withdraw", about="b<i>")
        assert told == "Withdraw: done; it can join again until the start"
        assert signed_up(await boss.get(f"{PAGE}/now")) == ["a"]
        wire = await running.visits.pop()
        assert [call["params"]["verdict"] for call in wire.calls("ejected")] == ["withdrawn"]
        assert wire.close_code == CloseCode.EJECTED
        await running.join("b<i>")  # the name is free again
        assert signed_up(await boss.get(f"{PAGE}/now")) == ["a", "b&lt;i&gt;"]
        await running.join("c")
        await running.until(1, GameStarts)
        now = (await boss.get(f"{PAGE}/now")).text
        assert "Who has signed up" not in now
        assert 'id="players"' in now
        running.open.set()
        result = await running.task
        assert len(result.standings) == 3
        assert not result.faults


def signed_up(page: httpx.Response) -> list[str]:
    """The names with a button to remove them, as the page has them."""
    return re.findall(r'<button form="lobby-remove" name="about" value="([^"]*)"', page.text)


async def test_orders_are_carried_out_and_their_outcome_is_shown(tmp_path: Path) -> None:
    async with event(settings(tmp_path)) as running:
        boss = running.boss
        async with asyncio.timeout(PATIENCE_S):
            page = await boss.get(PAGE)
            while "Games being played" not in page.text:
                page = await boss.get(PAGE)
        assert "No server plays it now" not in page.text
        assert await boss.order("test", "pause") == "Pause: done"
        assert 'class="badge paused"' in (await boss.get(f"{PAGE}/now")).text
        assert await boss.order("test", "resume") == "Resume: done"
        told = await boss.order("test", "disqualify", about="c", reason="two accounts")
        assert told == "Disqualify: done"
        told = await boss.order("test", "withdraw", about="c")
        assert told == "Not done: c is out already: disqualified"
        told = await boss.order("test", "void", about="1.1.1", reason="a hitch")
        assert "is not over" in told
        page = await boss.get(PAGE)
        assert 'class="badge disqualified"' in page.text
        assert page.text.count("two accounts") == 2  # with the player, and with the order
        running.open.set()
        await running.task


async def test_think_times_and_round_trips_are_shown_as_they_come(tmp_path: Path) -> None:
    async with event(settings(tmp_path)) as running:
        await running.until(1, GameStarts)
        late = await until_known(running, 6)
        _, _, ejections, turns, mean, longest, late_ms, stalls_ms, _ = late[0]
        assert (ejections, turns, mean, longest) == ("0", "0", "", "")  # no game is over
        assert int(late_ms.replace(",", "")) < 20_000
        assert stalls_ms
        assert await running.boss.order("test", "pause") == "Pause: done"  # after this game
        running.open.set()
        await running.until(1, GameOver)
        over = await until_known(running, 5)
        assert all(int(row[3]) > 0 for row in over)
        assert await running.boss.order("test", "resume") == "Resume: done"
        await running.task


async def until_known(running: Event, column: int) -> list[list[str]]:
    """The rows that have something in a column, once there are any."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := [row for row in await rows(running) if row[column]]):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


async def rows(running: Event) -> list[list[str]]:
    """What the table of players has: name, state, ejections, turns, and five times."""
    page = (await running.boss.get(f"{PAGE}/now")).text
    table = page.partition("<tbody>")[2].partition("</tbody>")[0]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("<tr")]
    return [[re.sub("<[^>]*>", "", cell).strip() for cell in row] for row in cells[1:]]


async def test_tournament_starts_when_the_operator_says_so(tmp_path: Path) -> None:
    given = settings(tmp_path, min_players=2, max_players=8, wait_ms=60_000)
    async with event(given, "a") as running:
        boss = running.boss
        assert "Start now" in (await boss.get(PAGE)).text
        told = await boss.order("test", "start")
        assert told == "Not done: 1 of at least 2 players are there"
        await running.join("b")
        assert await boss.order("test", "start") == "Start: done"
        await running.until(1, GameStarts)
        assert (await boss.order("test", "start")).startswith("Not done: it has begun")
        running.open.set()
        result = await running.task
        assert {name for _, name in result.standings} == {"a", "b"}


async def test_stopped_tournament_ends_the_server(tmp_path: Path) -> None:
    async with event(settings(tmp_path)) as running:
        await running.until(1, GameStarts)
        assert await running.boss.order("test", "stop") == "Stop: done"
        running.open.set()
        with pytest.raises(StoppedByOrder):
            await running.task


async def test_admitted_player_can_join_the_running_server(tmp_path: Path) -> None:
    path, token = tmp_path / "roster.toml", new_token()
    Roster(()).with_token("a", token).write(path)
    given = settings(tmp_path / "data", roster=path, min_players=2, max_players=2)
    async with event(given, "") as running:
        await running.join("a", token)
        told = await running.boss.told("test", "admit", name="b")
        await running.join("b", told.split()[-1])
        running.open.set()
        result = await running.task
        assert {name for _, name in result.standings} == {"a", "b"}
