"""The operator's orders to a tournament that is being played, and what they leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import Connection

from croupier_common.verdict import Verdict
from croupier_server.app import App
from croupier_server.errors import StoppedByOrder, UserError
from croupier_server.settings import Settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.progress import (
    GameOver,
    GameStarts,
    Paused,
    Progress,
    TournamentResult,
)
from support.databases import where as where  # noqa: PLC0414 - a fixture
from support.wire import Call, Script, Wire, quick_settings

PATIENCE_S = 20


@dataclass
class Event:
    """A tournament whose players wait at a turnstile, and its operator."""

    where: Path | str
    task: asyncio.Task[TournamentResult]
    port: int
    news: list[Progress] = field(default_factory=list[Progress])
    open: asyncio.Event = field(default_factory=asyncio.Event)
    wires: dict[str, Wire] = field(default_factory=dict[str, Wire])

    async def order(self, verb: str, about: str = "", reason: str = "") -> str:
        """Give an order and wait for its answer."""
        argument = {"about": about, "reason": reason}

        def give(connection: Connection) -> int:
            (tournament,) = catalogue.tournaments(connection)
            return catalogue.give_order(connection, tournament.id, verb, argument, by="me").id

        async with await Database.look(self.where) as database:
            number = await database.run(give)
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    found = await database.run(lambda c: catalogue.find_order(c, number))
                    assert found is not None
                    if found.outcome is not None:
                        return found.outcome
                    await asyncio.sleep(0.02)

    async def until(self, count: int, kind: type[Progress]) -> None:
        """Wait until so much of a kind was told."""
        async with asyncio.timeout(PATIENCE_S):
            while len([n for n in self.news if isinstance(n, kind)]) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def settings(where: Path | str, **tournament: object) -> Settings:
    place = {"data": where} if isinstance(where, Path) else {"url": where, "data": ""}
    return quick_settings(
        storage={**place, "resume_wait_ms": 5_000},
        lobby={"min_players": 3, "max_players": 3},
        clocks={"place_ms": 20_000, "move_ms": 20_000},
        tournament={"format": "round-robin", "games_at_once": 1, **tournament},
        game={"board": "4x4"},
    )


@asynccontextmanager
async def event(
    where: Path | str, given: Settings | None = None, first: int = 1
) -> AsyncGenerator[Event]:
    """Three players, a tournament, and a turnstile before every move from some game on."""
    given = given or settings(where)
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    news: list[Progress] = []
    server = App(given, listening=port.set_result, progress=news.append)
    running = Event(where, asyncio.create_task(server.run()), await port, news)

    async def turnstile(_wire: Wire, call: Call) -> bool:
        if call["method"] == "move" and sum(isinstance(n, GameOver) for n in news) >= first - 1:
            await running.open.wait()
        return False

    async def visit(name: str, joined: asyncio.Event) -> None:
        running.wires[name] = await Script(name, turnstile).play(running.port, joined)

    visits: list[asyncio.Task[None]] = []
    try:
        for name in "abc":
            joined = asyncio.Event()
            visits.append(asyncio.create_task(visit(name, joined)))
            await joined.wait()
        yield running
        await asyncio.wait(visits, timeout=PATIENCE_S)
    finally:
        running.task.cancel()
        for task in visits:
            task.cancel()
        await asyncio.wait({running.task, *visits})


async def test_paused_tournament_starts_no_game_until_it_is_resumed(where: Path | str) -> None:
    async with event(where) as running:
        await running.until(1, GameStarts)
        assert await running.order("pause") == "done"
        running.open.set()
        await running.until(1, GameOver)
        assert await running.order("resume") == "done"
        await running.task
    pause = running.news.index(Paused(True))
    resume = running.news.index(Paused(False))
    between = [type(news) for news in running.news[pause + 1 : resume]]
    assert between == [GameOver]
    assert sum(isinstance(news, GameOver) for news in running.news) == 6


async def test_withdrawn_player_is_let_go_and_its_games_are_forfeits(where: Path | str) -> None:
    async with event(where) as running:
        await running.until(1, GameStarts)
        (starts,) = [news for news in running.news if isinstance(news, GameStarts)]
        leaver = starts.pairing.players[0]
        assert await running.order("withdraw", leaver, "has a cold") == "done"
        running.open.set()
        result = await running.task
    wire = running.wires[leaver]
    assert (wire.close_code, wire.close_reason) == (4000, "withdrawn")
    assert result.faults[leaver].verdict is Verdict.WITHDRAWN
    assert result.faults[leaver].detail == "has a cold"
    mine = [one for _, one in result.games if leaver in one.players]
    assert all(one.verdicts[leaver] is Verdict.WITHDRAWN for one in mine)
    assert [one.kind for one in mine] == ["played", *["forfeit"] * 3]
    assert leaver not in result.winners


async def test_disqualified_player_is_out(where: Path | str) -> None:
    async with event(where) as running:
        await running.until(1, GameStarts)
        assert await running.order("disqualify", "b", "copied") == "done"
        assert "is out already" in await running.order("disqualify", "b")
        running.open.set()
        result = await running.task
    assert result.faults["b"].verdict is Verdict.DISQUALIFIED
    assert result.standings[-1] == (3, "b")


async def test_void_game_counts_for_nobody_and_a_replayed_one_counts_anew(
    where: Path | str,
) -> None:
    async with event(where, first=3) as running:
        await running.until(3, GameStarts)
        games = [n.pairing.game for n in running.news if isinstance(n, GameStarts)]
        assert await running.order("void", games[0], "the wrong rules") == "done"
        assert await running.order("replay", games[1], "an appeal") == "done; it is played again"
        assert "is not over" in await running.order("replay", games[2])
        assert "no game" in await running.order("void", "99.9")
        running.open.set()
        result = await running.task
    kinds = {pairing.game: one.kind for pairing, one in result.games}
    assert kinds[games[0]] == "void"
    names = [n.name for n in running.news if isinstance(n, GameStarts)]
    assert f"{games[1]}-2" in names
    async with await Database.look(where) as database:
        orders = await database.run(lambda c: catalogue.orders(c, 1))
        statuses = await database.run(
            lambda c: {game.name: game.status for game in catalogue.games(c, 1)}
        )
    assert [(order.verb, order.argument["about"]) for order in orders[:2]] == [
        ("void", games[0]),
        ("replay", games[1]),
    ]
    assert statuses[games[0]] == "void"
    assert statuses[games[1]] == "superseded"
    assert statuses[f"{games[1]}-2"] == "finished"


async def test_unknown_orders_and_players_are_refused(where: Path | str) -> None:
    async with event(where) as running:
        await running.until(1, GameStarts)
        assert await running.order("dance") == "refused: no order 'dance'"
        assert await running.order("withdraw", "zoe") == "refused: no player 'zoe'"
        running.open.set()
        await running.task


async def test_knock_out_does_not_replay_what_a_later_round_was_paired_from(
    where: Path | str,
) -> None:
    given = settings(where, format="knockout").model_copy(
        update={
            "lobby": quick_settings(
                lobby={"house": ["d=first", "e=first"], "min_players": 5, "max_players": 5}
            ).lobby
        }
    )
    async with event(where, given, first=3) as running:
        await running.until(3, GameStarts)
        assert "was paired from the result" in await running.order("replay", "1.1")
        assert "was paired from the result" in await running.order("void", "1.2")
        running.open.set()
        await running.task


async def test_stopped_tournament_ends_its_games_and_goes_on_later(where: Path | str) -> None:
    async with event(where) as running:
        await running.until(1, GameStarts)
        assert await running.order("stop") == "done"
        running.open.set()
        with pytest.raises(StoppedByOrder):
            await running.task
    assert sum(isinstance(news, GameOver) for news in running.news) == 1
    given = settings(where)
    given = given.model_copy(
        update={"storage": given.storage.model_copy(update={"resume_wait_ms": 50})}
    )
    other = given.tournament.model_copy(update={"table": 3})
    with pytest.raises(UserError, match=r"tournament\.table is 3"):
        await App(given.model_copy(update={"tournament": other})).run()


async def test_finished_tournament_is_not_played_again(where: Path | str) -> None:
    async with event(where) as running:
        running.open.set()
        await running.task
    with pytest.raises(UserError, match="is over"):
        await App(settings(where)).run()
    async with await Database.look(where) as database:
        (row,) = await database.run(catalogue.tournaments)
    assert row.status == "finished"


async def test_ladder_goes_on_until_it_is_stopped_and_keeps_ratings(where: Path | str) -> None:
    house: list[dict[str, object]] = [
        {"name": "anchor", "plays": "greedy", "rating": 1600},
        {"name": "low", "plays": "first"},
    ]
    lobby = quick_settings(lobby={"house": house, "min_players": 5, "max_players": 5}).lobby
    given = settings(where, format="ladder", games_at_once=3).model_copy(update={"lobby": lobby})
    async with event(where, given) as running:
        running.open.set()
        await running.until(30, GameOver)
        assert await running.order("stop") == "done"
        with pytest.raises(StoppedByOrder):
            await running.task
    async with await Database.look(where) as database:
        ratings = await database.run(lambda c: catalogue.ratings(c, 1))
        results = await database.run(lambda c: catalogue.results(c, 1))
    assert len(results) >= 30
    by_name = {row.name: row for row in ratings}
    assert set(by_name) == {"a", "b", "c", "anchor", "low"}
    assert (by_name["anchor"].rating, by_name["anchor"].low) == (1600, 1600)
    assert all(row.low < row.rating < row.high for row in ratings if row.name != "anchor")


async def test_tournament_is_stopped_while_it_waits_for_players(where: Path | str) -> None:
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(App(settings(where), listening=port.set_result).run())
    waiting = Event(where, task, await port)
    assert await waiting.order("stop") == "done"
    with pytest.raises(StoppedByOrder):
        await task
