"""A player at a gateway, asked and told by a worker elsewhere: over NATS, with real sockets.

The gateway here is the least that can be one: it takes sessions up, from others too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Self

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from croupier_common.messages import (
    PROTOCOL,
    Events,
    EventsParams,
    GameEnd,
    GameEndParams,
    JoinResult,
    TournamentStart,
    TournamentStartParams,
)
from croupier_common.session import CloseCode, JoinAsked
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.cluster import remote_seat as remote_module
from croupier_server.cluster.hand_over import take_over
from croupier_server.cluster.link import Link
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.remote_seat import Patience, RemoteSeat, seat_subject
from croupier_server.cluster.seat_service import SeatService
from croupier_server.cluster.wire import Message
from croupier_server.errors import Fenced, ServerFault
from croupier_server.gateway.player import Connection, WebSocketSeat, session_key
from croupier_server.heartbeat import Heartbeat
from croupier_server.seats import Admission, Answer, NoAnswer
from croupier_server.settings import Settings
from support.chaos_proxy import ChaosProxy
from support.hand import PATIENCE_S, Hand
from support.wire import quick_settings

pytestmark = pytest.mark.alone

ROOT = "test.1"


def settings(**clocks: object) -> Settings:
    return quick_settings(clocks={"grace_ms": 1_000, **clocks})


class Gateway:
    """Holds players, each with its service."""

    def __init__(self, url: str, given: Settings) -> None:
        self._url = url
        self._settings = given
        self.services: dict[str, SeatService] = {}
        self.gone: list[str] = []

    async def __aenter__(self) -> Self:
        self.link = await Link.open(self._url, name="gateway", root=ROOT)
        self._heartbeat = Heartbeat()
        self._heartbeat.start()
        self._server: Server = await serve(self._handle, "127.0.0.1", 0, ping_interval=None)
        self.port = int(next(iter(self._server.sockets)).getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._heartbeat.stop()
        self._server.close()
        await self._server.wait_closed()
        await self.link.close()

    def seat(self, key: str) -> WebSocketSeat:
        return self.services[key].seat

    async def _handle(self, socket: ServerConnection) -> None:
        connection = Connection(socket)
        asked = connection.session.receive(await socket.recv())
        assert isinstance(asked, JoinAsked)
        seat = await self._seat_for(asked)
        seat.attach(connection, asked, self._welcome(seat))
        try:
            while True:
                seat.received(connection, await socket.recv())
        except ConnectionClosed as closed:
            seat.lost(connection, closed)
        finally:
            await connection.closed()

    async def _seat_for(self, asked: JoinAsked) -> WebSocketSeat:
        token = asked.params.session
        if token is not None and session_key(token) in self.services:
            return self.seat(session_key(token))
        state = None
        seat = WebSocketSeat(self._settings, self._heartbeat.meter)
        if token is None:
            seat.joined(asked.params, Admission(asked.params.name, None))
        else:
            state = await take_over(self.link, session_key(token))
            assert state is not None
            seat.restore_from(state)
            seat.token = token
        assert seat.session is not None
        self.services[seat.session] = SeatService(self.link, seat, self.let_go)
        await self.services[seat.session].start(state)
        return seat

    def let_go(self, seat: WebSocketSeat) -> None:
        assert seat.session is not None
        self.gone.append(seat.name)
        self.services.pop(seat.session, None)

    def _welcome(self, seat: WebSocketSeat) -> JoinResult:
        return JoinResult(
            protocol=PROTOCOL,
            server="test",
            session=seat.token,
            name=seat.name,
            max_message=self._settings.limits.max_message,
            budgets_ms=seat.clocks.budgets_ms(),
        )


class Table:
    """A player, a worker, and two gateways that the player can be at."""

    def __init__(self, first: Gateway, second: Gateway, hand: Hand, worker: Link) -> None:
        self.first = first
        self.second = second
        self.hand = hand
        self.worker = worker
        assert hand.session is not None
        self.key = session_key(hand.session)

    def remote(self, worker: Link | None = None, **given: Any) -> RemoteSeat:
        patience = given.pop("patience", Patience(resume_wait_s=0.5, grace_s=1.0))
        return RemoteSeat(worker or self.worker, "hand", self.key, patience=patience, **given)

    async def move_to_second(self, **join: object) -> None:
        self.hand.port = self.second.port
        await self.hand.join(again=True, **join)


@asynccontextmanager
async def table(url: str, given: Settings | None = None, **join: object) -> AsyncGenerator[Table]:
    given = given or settings()
    async with Gateway(url, given) as first, Gateway(url, given) as second:
        hand = Hand(first.port, "hand", **join)
        worker = await Link.open(url, name="worker", root=ROOT)
        try:
            await hand.join()
            yield Table(first, second, hand, worker)
        finally:
            await hand.close()
            await worker.close()


def call(number: int, game: str = "1.1") -> TournamentStart:
    params = TournamentStartParams(tournament="test", players=["hand"], budget_ms=1)
    return TournamentStart(id=f"{game}:{number}", params=params)


def event(number: int, game: str = "1.1") -> Events:
    entry: Any = {"seq": number, "event": {"kind": "skip", "color": "red"}}
    return Events(params=EventsParams(game=game, events=[entry]))


def asking(
    seat: RemoteSeat, number: int, budget_ms: int | None = 5_000
) -> asyncio.Task[Answer | NoAnswer]:
    return asyncio.create_task(seat.ask(call(number), budget_ms))


async def answer(hand: Hand, request: dict[str, Any] | Any, result: object = True) -> None:
    await hand.send({"jsonrpc": "2.0", "id": request["id"], "result": result})


async def heard(hand: Hand, count: int) -> list[Any]:
    return [await hand.hear() for _ in range(count)]


async def away(seat: WebSocketSeat) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while seat.connection is not None:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)


def short_slices(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.1) -> None:
    """So that what is lost is soon asked again."""
    monkeypatch.setattr(remote_module, "SLICE_S", seconds)


# -- asking


async def test_answer_comes_with_the_durations_of_the_gateway(nats_server: NatsServer) -> None:
    async with table(nats_server.url) as at:
        asked = asking(at.remote(), 1)
        request = await at.hand.hear()
        assert request == call(1).model_dump(mode="json")
        await asyncio.sleep(0.2)
        await answer(at.hand, request, [1, [2]])
        answered = await asked
        assert isinstance(answered, Answer)
        assert answered.result == [1, [2]]
        assert 200 <= answered.think_ms < 2_000
        assert at.remote().session == at.first.seat(at.key).session
        assert await at.remote().is_here()


async def test_time_out_is_decided_at_the_gateway_however_slow_the_way(
    nats_server: NatsServer,
) -> None:
    async with (
        ChaosProxy("127.0.0.1", nats_server.port) as proxy,
        table(nats_server.url, settings(latency_allowance_ms=0)) as at,
    ):
        slow = nats_server.url.replace(f":{nats_server.port}", f":{proxy.port}")
        worker = await Link.open(slow, name="slow", root=ROOT)
        proxy.delay_ms = 300  # each way, so that an answer within its budget arrives after that
        try:
            seat = at.remote(worker)
            asked = asking(seat, 1, 400)
            await answer(at.hand, await at.hand.hear())
            in_time = await asked
            assert isinstance(in_time, Answer)
            assert in_time.think_ms < 400
            late = await seat.ask(call(2), 100)
            assert isinstance(late, NoAnswer)
            assert late.verdict is Verdict.TIMEOUT
            assert 100 <= late.think_ms < 1_000
        finally:
            await worker.close()


async def test_error_reply_and_garbage_are_what_the_gateway_saw(nats_server: NatsServer) -> None:
    async with table(nats_server.url) as at:
        seat = at.remote()
        asked = asking(seat, 1)
        await at.hand.hear()
        await at.hand.connection.send("no JSON \N{SNOWMAN}")
        wrong = await asked
        assert isinstance(wrong, NoAnswer)
        assert (wrong.verdict, wrong.sent) == (Verdict.MALFORMED, "no JSON \N{SNOWMAN}")
        assert await seat.pardon()
        asked = asking(seat, 2)
        await answer(at.hand, await at.hand.hear())
        assert isinstance(await asked, Answer)


async def test_request_that_takes_long_is_asked_again_and_the_player_hears_it_once(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_slices(monkeypatch)
    async with table(nats_server.url) as at:
        asked = asking(at.remote(), 1, None)
        request = await at.hand.hear()
        await asyncio.sleep(0.5)  # five slices
        await answer(at.hand, request, 7)
        answered = await asked
        assert isinstance(answered, Answer)
        assert answered.result == 7
        assert 500 <= answered.think_ms < 2_000
        asked = asking(at.remote(), 2)
        assert (await at.hand.hear())["id"] == "1.1:2"
        await answer(at.hand, {"id": "1.1:2"})
        await asked


async def test_answer_that_was_lost_on_the_way_is_given_again(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_slices(monkeypatch, 0.3)
    async with (
        ChaosProxy("127.0.0.1", nats_server.port) as proxy,
        table(nats_server.url) as at,
    ):
        lossy = nats_server.url.replace(f":{nats_server.port}", f":{proxy.port}")
        worker = await Link.open(lossy, name="lossy", root=ROOT)
        try:
            asked = asking(at.remote(worker), 1)
            request = await at.hand.hear()
            proxy.drop()
            await answer(at.hand, request, "once")
            async with asyncio.timeout(PATIENCE_S):
                while not proxy.lost:  # noqa: ASYNC110 - the answer is on its way
                    await asyncio.sleep(0.01)
            proxy.heal()
            answered = await asyncio.wait_for(asked, PATIENCE_S)
            assert isinstance(answered, Answer)
            assert answered.result == "once"
            assert answered.think_ms < 1_000
        finally:
            await worker.close()
        asked = asking(at.remote(), 2)  # so the player was not asked the first one again
        assert (await at.hand.hear())["id"] == "1.1:2"
        await answer(at.hand, {"id": "1.1:2"})
        await asked


async def test_game_taken_over_gets_the_answer_that_its_first_worker_was_given(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url) as at:
        asked = asking(at.remote(epoch=1), 1)
        await answer(at.hand, await at.hand.hear(), "first")
        first = await asked
        assert await at.remote(epoch=2).ask(call(1), 5_000) == first
        with pytest.raises(Fenced):
            await at.remote(epoch=1).ask(call(2), 5_000)


async def test_worker_that_lost_its_game_is_told_so_while_it_waits(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url, settings(), events=True) as at:
        old = at.remote(epoch=1)
        zombie = asking(old, 1)
        request = await at.hand.hear()
        asked = asking(at.remote(epoch=2), 1)
        with pytest.raises(Fenced):
            await zombie
        await old.tell(event(9))
        old.dismiss(None)
        assert await old.drained(PATIENCE_S)  # refused
        await answer(at.hand, request, "to the new one")
        answered = await asked
        assert isinstance(answered, Answer)
        assert answered.result == "to the new one"
        asked = asking(at.remote(epoch=2), 2)
        assert (await at.hand.hear())["id"] == "1.1:2"  # nothing was told, and it is not let go
        await answer(at.hand, {"id": "1.1:2"})
        await asked


async def test_request_of_an_earlier_turn_that_comes_late_does_not_reach_the_player(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url) as at:
        seat = at.remote()
        for number in (1, 2):
            asked = asking(seat, number)
            await answer(at.hand, await at.hand.hear())
            await asked
        with pytest.raises(Fenced):
            await seat.ask(call(1), 5_000)


# -- nobody there


async def test_player_that_is_held_again_in_time_is_asked(nats_server: NatsServer) -> None:
    missed: list[str] = []
    async with table(nats_server.url) as at:
        service = at.first.services[at.key]
        await service.stop()
        seat = at.remote(patience=Patience(resume_wait_s=10.0, missing=missed.append))
        asked = asking(seat, 1)
        await asyncio.sleep(0.3)
        again = SeatService(at.first.link, service.seat, at.first.let_go)
        await again.start()
        await answer(at.hand, await at.hand.hear())
        assert isinstance(await asked, Answer)
        assert not missed


async def test_player_that_nobody_holds_is_absent_and_is_not_waited_for_twice(
    nats_server: NatsServer,
) -> None:
    missed: list[str] = []
    async with table(nats_server.url) as at:
        service = at.first.services[at.key]
        await service.stop()
        seat = at.remote(patience=Patience(resume_wait_s=0.4, missing=missed.append))
        loop = asyncio.get_running_loop()
        began = loop.time()
        absent = await seat.ask(call(1), 5_000)
        assert isinstance(absent, NoAnswer)
        assert absent.verdict is Verdict.ABSENT
        assert loop.time() - began >= 0.4
        for number in range(2, 30):
            assert await seat.ask(call(number), 5_000) == absent
        assert loop.time() - began < 5.0
        assert missed == ["hand"]
        assert await seat.pardon()
        assert not await seat.is_here()
        again = SeatService(at.first.link, service.seat, at.first.let_go)
        await again.start()
        asked = asking(seat, 30)
        await answer(at.hand, await at.hand.hear())
        assert isinstance(await asked, Answer)
        await again.stop()  # and is waited for as long as the first time
        began = loop.time()
        assert await seat.ask(call(31), 5_000) == absent
        assert loop.time() - began >= 0.4
        assert missed == ["hand", "hand"]


async def test_gateway_that_is_there_and_never_answers_is_our_fault(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_slices(monkeypatch, 0.05)
    monkeypatch.setattr(remote_module, "_SLACK_S", 0.1)

    async def silent(_: Message) -> None:
        return None

    async with table(nats_server.url) as at:
        await at.worker.serve(seat_subject(ROOT, "0" * 64), silent)
        patience = Patience(allowance_s=0.0, grace_s=0.1)
        seat = RemoteSeat(at.worker, "hand", "0" * 64, patience=patience)
        with pytest.raises(ServerFault, match="the gateway of hand has not answered for"):
            await seat.ask(call(1), 100)


async def test_server_of_the_cluster_is_away_and_the_player_answers_meanwhile(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url, settings(latency_allowance_ms=0)) as at:
        seat = at.remote(
            patience=Patience(resume_wait_s=10.0)
        )  # one link may be back a while first
        asked = asking(seat, 1, 300)
        request = await at.hand.hear()
        await nats_server.kill()
        await answer(at.hand, request, "meanwhile")
        await asyncio.sleep(0.5)  # longer than the player has
        await nats_server.start()
        answered = await asyncio.wait_for(asked, PATIENCE_S)
        assert isinstance(answered, Answer)
        assert answered.result == "meanwhile"
        assert answered.think_ms < 300


# -- telling


async def test_told_and_asked_come_in_their_order(nats_server: NatsServer) -> None:
    async with table(nats_server.url, settings(), events=True) as at:
        seat = at.remote(wants_events=True)
        for number in range(20):
            await seat.tell(event(number))
        asked = asking(seat, 20)
        await asyncio.sleep(0)
        await seat.tell(event(21))
        calls = await heard(at.hand, 21)
        await answer(at.hand, calls[-1])
        await asked
        assert [call["method"] for call in calls] == ["events"] * 20 + ["tournament_start"]
        assert [c["params"]["events"][0]["seq"] for c in calls[:-1]] == list(range(20))
        assert (await at.hand.hear())["params"]["events"][0]["seq"] == 21


async def test_told_while_nobody_holds_the_player_waits_and_comes_once(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with table(nats_server.url, settings(), events=True) as at:
        service = at.first.services[at.key]
        await service.stop()
        seat = at.remote(patience=Patience(resume_wait_s=10.0))
        for number in range(300):
            await seat.tell(event(number))
        assert not await seat.drained(0.1)
        again = SeatService(at.first.link, service.seat, at.first.let_go)
        await again.start()
        assert await seat.drained(PATIENCE_S)
        calls = await heard(at.hand, 256)  # the newest
        assert [c["params"]["events"][0]["seq"] for c in calls] == list(range(44, 300))
        twice = Message(
            {"op": "tell", "from": seat._me, "n": 300, "game": "1.1", "last": 299},  # pyright: ignore[reportPrivateUsage]
            event(299).text(),
        )
        assert (await at.worker.request(seat_subject(ROOT, at.key), twice, 5)).head["re"] == "ok"
        asked = asking(seat, 400)
        assert (await at.hand.hear())["id"] == "1.1:400"
        await answer(at.hand, {"id": "1.1:400"})
        await asked


async def test_dismissed_player_is_closed_with_its_verdict_and_answers_for_itself(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url) as at:
        seat = at.remote()
        seat.dismiss(Fault(Verdict.ILLEGAL_ACTION, Phase.MOVEMENT, "off the board"))
        assert await seat.drained(PATIENCE_S)
        await asyncio.wait_for(at.hand.connection.wait_closed(), PATIENCE_S)
        assert at.hand.connection.close_code == CloseCode.EJECTED
        out = await seat.ask(call(1), 5_000)
        assert isinstance(out, NoAnswer)
        assert (out.verdict, "off the board" in out.detail) == (Verdict.DISQUALIFIED, True)


# -- to another gateway


async def test_open_request_goes_on_at_another_gateway_with_its_clock(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url, settings(latency_allowance_ms=0)) as at:
        asked = asking(at.remote(), 1, 1_500)
        request = await at.hand.hear()
        old = at.hand.connection
        await asyncio.sleep(0.6)
        await at.move_to_second()
        assert await at.hand.hear() == request
        await asyncio.wait_for(old.wait_closed(), PATIENCE_S)
        assert old.close_code == CloseCode.REPLACED
        assert at.first.gone == ["hand"]
        await asyncio.sleep(0.2)
        await answer(at.hand, request, "from there")
        answered = await asked
        assert isinstance(answered, Answer)
        assert answered.result == "from there"
        assert 790 <= answered.think_ms < 1_500


async def test_going_from_gateway_to_gateway_wins_no_time(nats_server: NatsServer) -> None:
    async with table(nats_server.url, settings(latency_allowance_ms=0)) as at:
        loop = asyncio.get_running_loop()
        asked = asking(at.remote(), 1, 800)
        await at.hand.hear()
        began = loop.time()
        for turn in range(8):
            at.hand.port = (at.second if turn % 2 == 0 else at.first).port
            await at.hand.join(again=True)
            await at.hand.hear()
            await asyncio.sleep(0.05)
        late = await asked
        assert isinstance(late, NoAnswer)
        assert late.verdict is Verdict.TIMEOUT
        assert loop.time() - began < 2.0
        assert late.think_ms >= 800


async def test_no_clock_starts_for_a_request_that_waited_for_its_player(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url, settings(grace_ms=8_000)) as at:
        at.hand.drop()
        await away(at.first.seat(at.key))
        asked = asking(at.remote(), 1, 400)
        await asyncio.sleep(0.6)  # longer than its budget
        await at.move_to_second()
        await answer(at.hand, await at.hand.hear())
        answered = await asked
        assert isinstance(answered, Answer)
        assert answered.think_ms < 400


async def test_what_was_missed_is_told_at_the_other_gateway(nats_server: NatsServer) -> None:
    async with table(nats_server.url, settings(), events=True) as at:
        seat = at.remote(wants_events=True)
        for number in (1, 2, 3):
            await seat.tell(event(number))
        await seat.drained(PATIENCE_S)
        await heard(at.hand, 3)
        at.hand.drop()
        await away(at.first.seat(at.key))
        await seat.tell(event(4))
        await seat.tell(GameEnd(params=GameEndParams(game="1.1", outcome=None, events=[])))
        await seat.drained(PATIENCE_S)
        await at.move_to_second(last_event={"1.1": 2})
        calls = await heard(at.hand, 3)
        assert [call["method"] for call in calls] == ["events", "events", "game_end"]
        assert [c["params"]["events"][0]["seq"] for c in calls[:2]] == [3, 4]
        await seat.tell(event(6, "1.2"))  # its numbers go on there
        assert (await at.hand.hear())["params"]["game"] == "1.2"


async def test_answer_given_before_is_known_at_the_other_gateway(nats_server: NatsServer) -> None:
    async with table(nats_server.url) as at:
        seat = at.remote(epoch=2)
        asked = asking(seat, 1)
        await answer(at.hand, await at.hand.hear(), "before")
        before = await asked
        await at.move_to_second()
        with pytest.raises(Fenced):
            await at.remote(epoch=1).ask(call(2), 5_000)
        assert await at.remote(epoch=2).ask(call(1), 5_000) == before


async def test_fault_out_of_turn_is_not_undone_at_another_gateway(nats_server: NatsServer) -> None:
    async with table(nats_server.url) as at:
        await at.hand.connection.send("garbage")
        _ = await at.hand.connection.ping()
        await at.move_to_second()
        wrong = await at.remote().ask(call(1), 5_000)
        assert isinstance(wrong, NoAnswer)
        assert wrong.verdict is Verdict.MALFORMED


async def test_only_one_of_two_gateways_gets_a_player_and_who_comes_late_is_sent_again(
    nats_server: NatsServer,
) -> None:
    async with table(nats_server.url) as at:
        seat = at.first.seat(at.key)
        taken = await asyncio.gather(take_over(at.worker, at.key), take_over(at.worker, at.key))
        assert [state is None for state in taken].count(True) == 1
        hand = Hand(at.first.port, "late")
        try:
            at.first.services[at.key] = SeatService(at.first.link, seat, at.first.let_go)
            hand.session = at.hand.session
            with pytest.raises(ConnectionClosed) as closed:  # it was given up meanwhile
                await hand.join(again=True)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == CloseCode.RESTARTING
        finally:
            await hand.close()


async def test_player_that_no_gateway_holds_is_not_taken_over(nats_server: NatsServer) -> None:
    async with table(nats_server.url) as at:
        assert await take_over(at.worker, "0" * 64) is None


# -- a gateway that was cut off


async def test_gateway_that_was_cut_off_lets_go_of_a_player_that_went_elsewhere(
    nats_server: NatsServer,
) -> None:
    async with ChaosProxy("127.0.0.1", nats_server.port) as proxy:
        through = nats_server.url.replace(f":{nats_server.port}", f":{proxy.port}")
        given = settings(grace_ms=8_000)
        async with Gateway(through, given) as cut, table(nats_server.url, given) as at:
            at.hand.port = cut.port
            await at.hand.join(again=True)
            seat = at.remote()
            asked = asking(seat, 1)
            request = await at.hand.hear()
            proxy.refuse()
            proxy.reset()
            at.hand.drop()
            # the cluster knows no more of it: what comes now is as after the gateway's death
            other = WebSocketSeat(given, at.second._heartbeat.meter)  # pyright: ignore[reportPrivateUsage]
            other.restore_from(cut.seat(at.key).export())
            service = at.second.services[at.key] = SeatService(
                at.second.link, other, at.second.let_go
            )
            await service.start()
            at.hand.port = at.second.port
            await at.hand.join(again=True)
            assert await at.hand.hear() == request
            proxy.heal()
            await asyncio.wait_for(cut.link.connected(), PATIENCE_S)
            assert not await cut.services[at.key].verify()
            assert cut.gone == ["hand"]
            await answer(at.hand, request, "elsewhere")
            answered = await asked
            assert isinstance(answered, Answer)
            assert answered.result == "elsewhere"


async def test_gateway_that_still_holds_its_player_goes_on_with_it(nats_server: NatsServer) -> None:
    async with table(nats_server.url) as at:
        service = at.first.services[at.key]
        asked = asking(at.remote(), 1)
        request = await at.hand.hear()
        assert await asyncio.gather(*(service.verify() for _ in range(5))) == [True] * 5
        await answer(at.hand, request)
        assert isinstance(await asked, Answer)
        assert not at.first.gone
