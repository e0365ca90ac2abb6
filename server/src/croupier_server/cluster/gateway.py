"""A gateway of a cluster: holds players' connections, for games that are played elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import structlog

from croupier_common.jsontypes import is_array, is_object
from croupier_common.messages import (
    PROTOCOL,
    Ejection,
    EjectionParams,
    ErrorCode,
    JoinParams,
)
from croupier_common.session import CloseCode
from croupier_server.cluster.asking import NoManager, ask_manager
from croupier_server.cluster.cut_off import watch_link
from croupier_server.cluster.hand_over import take_over
from croupier_server.cluster.link import Link, Served
from croupier_server.cluster.neighbours import Neighbours
from croupier_server.cluster.seat_service import SeatService
from croupier_server.cluster.wire import (
    Message,
    WireError,
    clocks_from_json,
    fault_from_json,
    join_params_from_json,
    join_params_to_json,
)
from croupier_server.errors import CroupierError, NotNow, Refused
from croupier_server.gateway.player import WebSocketSeat, session_key
from croupier_server.gateway.seat_state import SeatState
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.operations.tally import Tally
from croupier_server.seats import Admission, Seat
from croupier_server.settings import Settings

__all__ = ["ClusterGateway"]

log = structlog.get_logger(__name__)

ASK_S: Final = 8.0
"""How long somebody who joins waits for a manager."""


TAKEN_S: Final = 5.0
"""How long a gateway that stops waits until others have taken its players over."""

SWEEP_S: Final = 10.0
"""How often it is looked for players who were dismissed while they were away."""

OUT_S: Final = 3_600.0
"""For how long who is out is answered for: other games may still ask for its moves."""


class ClusterGateway(WebSocketGateway):
    """Listens for players, and answers for those that it holds on the cluster's subjects."""

    def __init__(self, settings: Settings, link: Link, tally: Tally) -> None:
        super().__init__(settings, _not_here, _not_here, tally)
        self._link = link
        self._services: dict[str, SeatService] = {}
        self._params: dict[str, JoinParams] = {}  # of those who joined here
        self._freed = asyncio.Event()  # set whenever somebody is held here no more
        self._is_leaving = False
        self._neighbours = Neighbours(link)
        self._active: Served | None = None
        self._finding: dict[str, asyncio.Lock] = {}
        self._limits: set[asyncio.Timeout] = set()  # of the questions that the manager is asked
        self._tasks: list[asyncio.Task[None]] = []
        self._lost_s = settings.cluster.lost_ms / 1000

    async def start(self) -> None:
        """See the base."""
        self._active = await self._link.serve(f"{self._link.root}.active", self._hear_active)
        await self._neighbours.open()
        await super().start()
        watching = watch_link(self._link, self._lost_s, self._cut_off, self.reopen)
        for work, name in (
            (self._sweep(), "sweep"),
            (watching, "link"),
            (self._neighbours.run(), "neighbours"),
        ):
            self._tasks.append(asyncio.create_task(work, name=name))

    async def verify(self) -> None:
        """The link was lost and is back: let go of whom others have taken over meanwhile.

        Who is connected here is here: the newest connection wins. But a manager that could find
        nobody here has taken them for gone.
        """
        for service in list(self._services.values()):
            if service.seat.connection is None:
                await service.verify()
        await self._report()

    async def leave_to_others(self) -> None:
        """Stop: all are sent away, to come back to other gateways that take them over from here."""
        self._is_leaving = True
        for limit in self._limits:  # what is asked now, another gateway asks again
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        goodbye = CloseCode.RESTARTING, "the server restarts"
        self.shut(*goodbye)
        await self.stop(*goodbye)
        if self._active is not None:
            await self._active.stop()
        await self._neighbours.close()
        if not self._neighbours.are_there:
            await self._let_all_go()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(TAKEN_S):
                while any(not service.seat.is_dismissed for service in self._services.values()):
                    self._freed.clear()
                    await self._freed.wait()
        await self._let_all_go()

    async def _cut_off(self) -> None:
        """The link was lost for so long that others are taken for lost: nobody is to wait here.

        All are sent on to other gateways, which ask them anew what they are asked here, as if this
        one had died; and whoever comes is let in when the link is back. Without others they stay,
        and their clocks with them.
        """
        if not self._neighbours.are_there:
            log.warning("this gateway is cut off", players=self.held)
            return
        log.warning("players are sent on: this gateway is cut off", players=self.held)
        goodbye = CloseCode.RESTARTING, "this gateway is cut off; come back"
        self.shut(*goodbye)
        seats = [service.seat for service in self._services.values()]
        await self._let_all_go()
        for seat in seats:
            if self._sessions.get(session_key(seat.token)) is seat:
                del self._sessions[session_key(seat.token)]
            seat.send_away(*goodbye)

    async def _let_all_go(self) -> None:
        for service in list(self._services.values()):
            await service.stop()
        self._services.clear()
        self._params.clear()

    @property
    def held(self) -> int:
        """How many players it answers for, those too who are away for a moment."""
        return len(self._services)

    # -- what the manager decides

    async def _admitted(self, params: JoinParams, seat: WebSocketSeat) -> Admission:
        """See the base; the player can be asked from the moment that the manager knows it."""
        key = session_key(seat.token)
        try:
            await self._serve(key, seat)
            admission = await self._ask_to_admit(key, params)
        except BaseException:
            await self._let_go(key)
            raise
        self._params[key] = params
        return admission

    async def _ask_to_admit(
        self, key: str, params: JoinParams, *, only_known: bool = False
    ) -> Admission:
        asked = join_params_to_json(params)
        question = {"op": "admit", "key": key, "params": asked, "only_known": only_known}
        answer = await self._ask(Message(question))
        age = None if answer.head.get("age") is None else answer.whole("age")
        return Admission(answer.text("name"), age, _clocks(answer.head))

    async def _hear_active(self, _: Message) -> None:
        """A manager is new in its place: it hears of all, since lobbies are not kept."""
        await self._report()

    async def _report(self) -> None:
        """Tell the manager who is here.

        Those that it knows stay; who it can't have is sent away, to join again. Who is away, and
        not waited for, is held no longer.
        """
        for key, service in list(self._services.items()):
            seat = service.seat
            if seat.is_dismissed or self._sessions.get(key) is not seat:  # it has yet to join
                continue
            try:
                if _is_away(seat):
                    await self._ask_to_leave(key, service)
                else:
                    await self._ask_to_keep(key, seat)
            except NotNow:
                return  # the next one says that it is there
            except CroupierError as problem:
                log.warning("the manager fails", player=seat.name, problem=str(problem))

    async def _ask_to_keep(self, key: str, seat: WebSocketSeat) -> None:
        params = self._params.get(key)
        try:
            if params is None:  # it came from another gateway: where it had joined, only it knows
                _ = await self._ask_to_admit(key, _params_of(seat), only_known=True)
            else:
                _ = await self._ask_to_admit(key, params)
        except NotNow:
            raise
        except Refused as refused:
            log.info("player is sent away", player=seat.name, reason=str(refused))
            await self._let_go(key)  # first, so that it can't come back to what nobody knows
            seat.send_away(CloseCode.RESTARTING, "join again")

    async def _left(self, seat: WebSocketSeat) -> bool:
        """See the base."""
        key = session_key(seat.token)
        service = self._services.get(key)
        if service is None or service.seat is not seat:  # another gateway has it, or had it
            return True
        if self._is_leaving:
            return False
        if seat.is_out:  # it is answered for on, and whoever comes back hears why
            return False
        if seat.is_dismissed:
            await self._let_go(key)
            return True
        try:
            return await self._ask_to_leave(key, service)
        except CroupierError as problem:  # no manager: it may come back
            log.info("player may come back", player=seat.name, reason=str(problem))
            return False

    async def _ask_to_leave(self, key: str, service: SeatService) -> bool:
        """Let go of a player that is away, if nobody waits for it; whether that is so."""
        seat = service.seat
        async with self._lock(key):
            if not _is_away(seat) or self._services.get(key) is not service:
                return False  # it is back, or another gateway has it
            answer = await self._ask(Message({"op": "leave", "key": key}))
            is_gone = answer.head.get("is_gone") is True
            if is_gone:
                await self._let_go(key)
                if not _is_away(seat):  # it was back before its place was given away
                    seat.send_away(CloseCode.RESTARTING, "join again")
            else:
                await service.verify()
            return is_gone

    async def _sweep(self) -> None:
        """Let go of those who were dismissed while they were away, until this is cancelled."""
        now = asyncio.get_running_loop().time
        since: dict[str, float] = {}
        while True:
            await asyncio.sleep(SWEEP_S)
            away = [key for key, held in self._services.items() if _is_done(held.seat)]
            since = {key: since.get(key, now()) for key in away}
            for key in away:
                service = self._services.get(key)
                if service is None or not _is_done(service.seat):
                    continue
                if not service.seat.is_out or now() - since[key] >= OUT_S:
                    await self._let_go(key)

    async def _find(self, token: str) -> WebSocketSeat:
        """See the base: the seat may be here, at another gateway, or at none any more."""
        key = session_key(token)
        async with self._lock(key):
            seat = self._sessions.get(key)
            if seat is None:
                state = await take_over(self._link, key)
                seat = await self._claimed(key) if state is None else self._taken_over(state)
                seat.token = token
                self._sessions[key] = seat
                await self._serve(key, seat, state)
            return seat

    def _taken_over(self, state: SeatState) -> WebSocketSeat:
        seat = self._new_seat()
        seat.restore_from(state)
        log.info("player was taken over from another gateway", player=seat.name)
        return seat

    async def _claimed(self, key: str) -> WebSocketSeat:
        answer = await self._ask(Message({"op": "claim", "key": key}))
        seat = self._new_seat()
        options, told = answer.head.get("options"), answer.head.get("told")
        name = answer.text("name")
        if not is_object(options):
            raise WireError("a claim without options")
        params = join_params_from_json({**options, "protocol": PROTOCOL, "name": name})
        age = None if answer.head.get("age") is None else answer.whole("age")
        seat.joined(params, Admission(name, age, _clocks(answer.head)))
        for game, texts in (told if is_object(told) else {}).items():
            if is_array(texts):
                seat.remember(game, [_told(entry) for entry in texts])
        if answer.head.get("fault") is not None:
            fault = fault_from_json(answer.head["fault"])
            params_of_it = EjectionParams(game=None, **fault.to_json())
            seat.tell_text("", None, Ejection(params=params_of_it).text())
            seat.dismiss(fault)
        log.info("player is back at another gateway", player=name)
        return seat

    async def _ask(self, question: Message) -> Message:
        """The manager's answer.

        Raises:
            Refused: it says so, or there is none.
        """
        try:
            answer = await self._answer_to(question)
        except NoManager as problem:
            raise NotNow(f"{problem}; come back in a moment", ErrorCode.CLOSED) from None
        if answer.head.get("re") in {"refused", "unknown"}:
            data = answer.head.get("data")
            given = data if is_object(data) else None
            raise Refused(answer.text("reason"), answer.whole("code"), given)
        return answer

    async def _answer_to(self, question: Message) -> Message:
        try:
            async with asyncio.timeout(0 if self._is_leaving else ASK_S) as limit:
                self._limits.add(limit)
                try:
                    return await ask_manager(self._link, question)
                finally:
                    self._limits.discard(limit)
        except TimeoutError:
            raise NoManager("no manager answers") from None

    # -- what is served

    async def _serve(self, key: str, seat: WebSocketSeat, state: SeatState | None = None) -> None:
        def gone(_: Seat) -> None:
            if self._services.get(key) is service:
                del self._services[key]
                self._params.pop(key, None)
            self._freed.set()
            if self._sessions.get(key) is seat:
                del self._sessions[key]

        self._services[key] = service = SeatService(self._link, seat, gone, self._tally.traces)
        await service.start(state)

    async def _let_go(self, key: str) -> None:
        service = self._services.pop(key, None)
        self._params.pop(key, None)
        self._sessions.pop(key, None)
        self._freed.set()
        if service is not None:
            await service.stop()

    def _lock(self, key: str) -> asyncio.Lock:
        """Held while it is decided who holds a player."""
        lock = self._finding.get(key)
        if lock is None:
            lock = self._finding[key] = asyncio.Lock()
            lock_gone = self._finding.pop
            asyncio.get_running_loop().call_later(60.0, lock_gone, key, None)
        return lock


def _is_away(seat: WebSocketSeat) -> bool:
    return seat.connection is None


def _is_done(seat: WebSocketSeat) -> bool:
    return seat.is_dismissed and _is_away(seat)


def _params_of(seat: WebSocketSeat) -> JoinParams:
    """What a player has said of itself, as far as its seat knows."""
    return JoinParams(
        protocol=PROTOCOL,
        name=seat.name,
        age=seat.age,
        events=seat.wants_events,
        legal_actions=seat.wants_legal_actions,
        max_games=seat.max_games,
    )


def _told(entry: object) -> tuple[int, str]:
    """A notification's text, with the number of the last event that it tells."""
    match entry:
        case [int(last), str(text)]:
            return last, text
        case _:
            raise WireError("a claim with something told that is no text")


def _clocks(head: Mapping[str, Any]) -> Any:
    clocks = head.get("clocks")
    return None if clocks is None else clocks_from_json(clocks)


def _not_here(*_: object) -> Any:
    raise AssertionError("the manager decides")
