"""What a cluster must not get wrong where several things go wrong at once, or at a bad moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from websockets.exceptions import ConnectionClosed

from croupier_common.verdict import Verdict
from croupier_server.cluster import gateway as gateway_module
from croupier_server.cluster.dealer import Dealer
from croupier_server.cluster.gateway import ClusterGateway
from croupier_server.cluster.link import Link
from croupier_server.cluster.managing import run_manager
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.queue import GamesQueue, Offer
from croupier_server.cluster.roles import root_of, run_worker
from croupier_server.cluster.streams import jetstream
from croupier_server.cluster.wire import Message, clocks_to_json
from croupier_server.operations.tally import Tally
from croupier_server.settings import Settings
from croupier_server.storage.database import Database
from croupier_server.tournament.progress import GameOver, Progress, TournamentResult
from support.chaos_proxy import ChaosProxy
from support.clustered import Roles, roles
from support.databases import execute, made_database
from support.hand import Hand
from support.hosts import require_cluster
from support.wire import Script, Wire, quick_settings, results, serving, thinks

PATIENCE_S = 12.0
ROOT = "croupier.1"

Playing = asyncio.Task[TournamentResult | None]


@dataclass
class Patient(Roles):
    """A cluster that takes nobody for lost."""

    def settings(self, settings: Settings) -> Settings:
        given = super().settings(settings)
        patient = given.cluster.model_copy(update={"lost_ms": 60_000})
        return given.model_copy(update={"cluster": patient})


@pytest.fixture
async def cluster(nats_server: NatsServer) -> AsyncIterator[Roles]:
    require_cluster()
    async with made_database() as database, roles(nats_server.url, database) as running:
        yield running


@asynccontextmanager
async def manager(
    cluster: Roles, settings: Settings, heard: Callable[[Progress], None] = lambda _: None
) -> AsyncGenerator[Playing]:
    """A manager that is active; it ends with this."""
    active = asyncio.Event()

    def ready(line: str) -> None:
        if line == "active":
            active.set()

    task = asyncio.create_task(run_manager([cluster.settings(settings)], ready, heard))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await active.wait()
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def ended(playing: Playing) -> TournamentResult:
    async with asyncio.timeout(PATIENCE_S):
        result = await playing
    assert result is not None
    return result


async def joined(group: asyncio.TaskGroup, port: int, script: Script) -> asyncio.Task[Wire]:
    answered = asyncio.Event()
    task = group.create_task(script.play(port, answered))
    async with asyncio.timeout(PATIENCE_S):
        await answered.wait()
    return task


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S / 2):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.05)


@asynccontextmanager
async def cut_off(cluster: Roles) -> AsyncGenerator[tuple[Roles, ChaosProxy]]:
    """The cluster as those see it who can be cut off from NATS."""
    port = int(cluster.nats.rpartition(":")[2])
    async with ChaosProxy("127.0.0.1", port) as wire:
        nats = cluster.nats.replace(f":{port}", f":{wire.port}")
        yield Patient(nats, cluster.database, cluster.running), wire


def cut(wire: ChaosProxy) -> None:
    """Break it off, so that NATS knows."""
    wire.refuse()
    wire.reset()


def settings_for(players: int, **sections: Any) -> Settings:
    lobby = {"min_players": players, "max_players": players, "wait_ms": 60_000}
    return quick_settings(lobby=lobby, **sections)


# -- a manager that takes over


async def test_clock_of_a_player_that_is_away_runs_on_under_the_next_manager(
    cluster: Roles,
) -> None:
    settings = settings_for(2, clocks={"place_ms": 2_500, "move_ms": 2_500})
    hand = Hand(await cluster.gateway(settings), "hand")
    _ = cluster.worker(settings)
    async with asyncio.TaskGroup() as group:
        async with manager(cluster, settings):
            await hand.join()
            _ = await joined(group, hand.port, Script("b"))
            await hand.until("place")
        async with manager(cluster, settings) as playing:
            hand.drop()
            result = await ended(playing)
    await hand.close()
    assert result.faults["hand"].verdict is Verdict.DISCONNECTED


async def test_manager_that_has_lost_the_database_at_the_very_end_ends_in_peace(
    cluster: Roles,
) -> None:
    """The end was written, and the connection lost before that was heard."""
    async with manager(cluster, settings_for(2)) as playing:
        await execute(cluster.database, "UPDATE tournaments SET status = 'finished'")
        await execute(
            cluster.database,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        async with asyncio.timeout(PATIENCE_S):
            assert await playing is None


async def test_player_comes_back_as_often_as_it_likes_after_a_restart(tmp_path: Path) -> None:
    settings = settings_for(
        2, storage={"data": str(tmp_path)}, clocks={"place_ms": 9_000, "move_ms": 9_000}
    )
    async with serving(settings) as (port, _):
        hands = [Hand(port, name) for name in "ab"]
        for hand in hands:
            await hand.join()
        for hand in hands:
            _ = await hand.until("tournament_start")
            await hand.answer(hand.heard[-1])
        for hand in hands:
            _ = await hand.until("game_start")
    async with serving(settings) as (port, _):
        for hand in hands:
            hand.port = port
            assert "result" in await hand.join(again=True)
        for _ in range(2):
            hands[0].drop()
            await asyncio.sleep(0.1)
            assert "result" in await hands[0].join(again=True)
    for hand in hands:
        await hand.close()


async def test_player_whose_gateway_is_back_after_the_manager_is_not_absent(
    cluster: Roles,
) -> None:
    """NATS and the manager may have died together; nobody has to connect again for that."""
    settings = settings_for(2, clocks={"place_ms": 6_000, "move_ms": 6_000})
    _ = cluster.worker(settings)
    async with cut_off(cluster) as (far, wire), asyncio.TaskGroup() as group:
        port = await far.gateway(settings)
        hand = Hand(port, "hand")
        async with manager(cluster, settings):
            await hand.join()
            _ = await joined(group, port, Script("b"))
            call = await hand.until("place")
            cut(wire)
        async with manager(cluster, settings) as playing:
            wire.accept()
            await hand.answer(call)
            group.create_task(hand.play_on())
            result = await ended(playing)
        await cluster.stop()
        await hand.close()
    assert not result.faults


async def test_who_has_signed_up_at_a_gateway_that_was_cut_off_is_in_the_lobby_again(
    cluster: Roles,
) -> None:
    settings = settings_for(2)
    _ = cluster.worker(settings)
    async with cut_off(cluster) as (far, wire), asyncio.TaskGroup() as group:
        ports = await far.gateway(settings), await cluster.gateway(settings)
        async with manager(cluster, settings) as playing:
            _ = await joined(group, ports[0], Script("a"))
            cut(wire)
            namesake = Hand(ports[1], "A")
            async with asyncio.timeout(PATIENCE_S):
                while "error" in await namesake.join():  # the name is taken
                    await namesake.connection.wait_closed()
            await namesake.close()
            wire.accept()
            _ = await joined(group, ports[1], Script("b"))
            result = await ended(playing)
    assert {name for _, name in result.standings} == {"a", "b"}


# -- a game that is given away


async def test_nobody_is_told_of_an_interruption_when_another_has_taken_the_game(
    cluster: Roles,
) -> None:
    settings = settings_for(2, clocks={"place_ms": 5_000, "move_ms": 5_000})
    hand = Hand(await cluster.gateway(settings), "hand")
    _ = cluster.worker(settings)
    async with asyncio.TaskGroup() as group, manager(cluster, settings) as playing:
        await hand.join()
        other = await joined(group, hand.port, Script("b"))
        call = await hand.until("place")
        await execute(cluster.database, "UPDATE games SET epoch = epoch + 1")
        await hand.answer(call)
        mine = group.create_task(hand.play_on())
        result = await ended(playing)
    await hand.close()
    assert not result.faults
    for told in (mine.result(), other.result().received):
        (end,) = [call["params"] for call in told if call.get("method") == "game_end"]
        assert end["outcome"] is not None


# -- who is let go


async def test_who_is_out_answers_so_in_its_other_games_at_once(cluster: Roles) -> None:
    settings = settings_for(
        3,
        tournament={
            "format": "round-robin",
            "table": 2,
            "games_at_once": 9,
            "ejection": "tournament",
        },
        clocks={"place_ms": 2_000, "move_ms": 2_000},
        game={"board": "4x4"},
    )
    illegal = results("move", [[0, 0], [9, 9]])
    scripts = [
        Script("cheat", illegal, {"max_games": 2}),
        Script("quick"),
        Script("slow", thinks("place", 0.15)),
    ]
    port = await cluster.gateway(settings)
    for _ in range(2):
        _ = cluster.worker(settings)
    async with asyncio.TaskGroup() as group, manager(cluster, settings) as playing:
        for script in scripts:
            _ = await joined(group, port, script)
        result = await ended(playing)
    verdicts = [of["cheat"] for _, game in result.games if (of := game.verdicts)]
    assert set(verdicts) <= {Verdict.ILLEGAL_ACTION, Verdict.DISQUALIFIED}


async def test_gateway_keeps_nobody_when_the_tournament_is_over(
    cluster: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_module, "SWEEP_S", 0.1)
    monkeypatch.setattr(gateway_module, "OUT_S", 0.2)
    settings = settings_for(2, tournament={"ejection": "game"})
    _ = cluster.worker(settings)
    async with own_gateway(cluster, settings) as gateway, asyncio.TaskGroup() as group:
        async with manager(cluster, settings) as playing:
            hand = Hand(gateway.port, "hand")
            await hand.join()
            _ = await joined(group, gateway.port, Script("b"))
            await hand.until("place")
            hand.drop()
            _ = await ended(playing)
        await hand.close()
        await until(lambda: not gateway.held)


@asynccontextmanager
async def own_gateway(cluster: Roles, settings: Settings) -> AsyncGenerator[ClusterGateway]:
    """A gateway, to look into."""
    own = cluster.settings(settings)
    link = await Link.open(cluster.nats, name="gateway", root=root_of(own))
    gateway = ClusterGateway(own, link, Tally())
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.leave_to_others()
        await link.close()


# -- a manager that is not there


async def test_nobody_is_sent_away_for_want_of_a_manager(
    cluster: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(3)
    async with asyncio.TaskGroup() as group:
        port = await cluster.gateway(settings)
        async with manager(cluster, settings):
            player = await joined(group, port, Script("a"))
        monkeypatch.setattr(gateway_module, "ASK_S", 0.3)
        link = await Link.open(cluster.nats, name="test", root=ROOT)
        await link.publish(f"{ROOT}.active", Message({"op": "active"}))
        await asyncio.sleep(1.0)
        assert not player.done()
        await link.close()
        await cluster.stop()


async def test_gateway_stops_at_once_without_a_manager(cluster: Roles) -> None:
    settings = settings_for(3)
    async with asyncio.TaskGroup() as group:
        port = await cluster.gateway(settings)
        async with manager(cluster, settings):
            hand = Hand(port, "a")
            await hand.join()
        await hand.close()  # it leaves, and nobody is there to hear that
        waiting = Hand(port, "b")
        group.create_task(_refused(waiting))
        await asyncio.sleep(0.2)
        async with asyncio.timeout(3):
            await cluster.stop()


async def _refused(hand: Hand) -> None:
    with suppress(ConnectionClosed):
        answer = await hand.join()
        assert "come back" in answer["error"]["message"]
    assert hand.session is None
    await hand.close()


# -- messages


async def test_gateway_takes_a_claim_with_options_of_a_later_version(
    nats_server: NatsServer,
) -> None:
    settings = settings_for(2)
    clocks = clocks_to_json(settings.clocks)

    async def claimed(_: Message) -> Message:
        options = {"events": True, "legal_actions": False, "max_games": 2, "mood": 7}
        return Message({"re": "claimed", "name": "hand", "clocks": clocks, "options": options})

    link = await Link.open(nats_server.url, name="later", root=ROOT)
    _ = await link.serve(f"{ROOT}.manager", claimed)
    async with own_gateway(Roles(nats_server.url, ""), settings) as gateway:
        hand = Hand(gateway.port, "hand")
        hand.session = "a token of before"
        answer = await hand.join(again=True)
        assert answer["result"]["name"] == "hand"
        await hand.close()
    await link.close()


# -- NATS


async def test_what_is_served_while_nats_is_gone_for_long_is_served_once_when_it_is_back(
    nats_server: NatsServer,
) -> None:
    link = await Link.open(nats_server.url, name="one", root=ROOT)
    other = await Link.open(nats_server.url, name="other", root=ROOT)
    heard: list[Message] = []

    async def hear(message: Message) -> None:
        heard.append(message)

    await link.nats.end()  # as after 20 s without a server
    served = await link.serve(f"{ROOT}.test", hear)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.sleep(0.01)
        await link.connected()
        while not heard:
            await other.publish(f"{ROOT}.test", Message({"n": 1}))
            await asyncio.sleep(0.05)
    heard.clear()
    await other.publish(f"{ROOT}.test", Message({"n": 2}))
    await asyncio.sleep(0.2)
    assert [message.head["n"] for message in heard].count(2) == 1
    await served.stop()
    await link.close()
    await other.close()


async def test_game_whose_offer_was_lost_with_the_queue_is_offered_when_nats_is_back(
    cluster: Roles,
) -> None:
    async with cut_off(cluster) as (far, wire), await Database.open(cluster.database) as database:
        link = await Link.open(far.nats, name="test", root=ROOT)
        queue = GamesQueue(link, 30.0)
        await queue.open()
        dealer = Dealer(queue, database)
        tasks = {
            asyncio.create_task(dealer.run()),
            asyncio.create_task(dealer.play(Offer(1, 7, 1, {}))),
        }
        streams = jetstream(link)
        await until_offered(streams)
        await streams.purge_stream("croupier-1-games")
        wire.reset()
        await until_offered(streams)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await link.close()


async def until_offered(streams: JetStreamContext) -> None:
    async with asyncio.timeout(4):
        while True:
            with suppress(NatsError, TimeoutError):
                if (await streams.stream_info("croupier-1-games")).state.messages:
                    return
            await asyncio.sleep(0.05)


async def test_worker_that_winds_up_lets_others_have_the_next_game_at_once(
    cluster: Roles,
) -> None:
    settings = settings_for(
        4,
        clocks={"place_ms": 9_000, "move_ms": 9_000},
        tournament={"format": "round-robin", "table": 2, "games_at_once": 2},
        server={"port": 0, "drain_ms": 2_000},
    )
    of_worker = Patient(cluster.nats, cluster.database).settings(settings)
    over: list[Progress] = []
    port = await cluster.gateway(settings)

    def heard(news: Progress) -> None:
        if isinstance(news, GameOver):
            over.append(news)

    async with asyncio.TaskGroup() as group, manager(cluster, settings, heard):
        workers = [asyncio.create_task(run_worker(of_worker, lambda _: None))]
        hand = Hand(port, "hand")
        await hand.join()
        for name in "bcd":
            _ = await joined(group, port, Script(name, thinks("place", 0.1)))
        call = await hand.until("place")
        workers[0].cancel()  # it has that game, and another that ends soon
        workers.append(asyncio.create_task(run_worker(of_worker, lambda _: None)))
        await until(lambda: len(over) == 2)  # the two others have played both their games
        for worker in workers:
            worker.cancel()
        await hand.answer(call)
        await cluster.stop()
    await asyncio.wait(workers)
    await hand.close()
