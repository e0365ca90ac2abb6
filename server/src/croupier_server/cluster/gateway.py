"""A gateway of a cluster: holds players' connections, for games that are played elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import structlog

from croupier_common.jsontypes import is_array, is_object
from croupier_common.messages import PROTOCOL, ErrorCode, JoinParams
from croupier_common.session import CloseCode
from croupier_server.cluster.asking import NoManager, ask_manager
from croupier_server.cluster.hand_over import take_over
from croupier_server.cluster.link import Link, NoOneThere, NoReply, Served
from croupier_server.cluster.seat_service import SeatService
from croupier_server.cluster.wire import (
    Message,
    WireError,
    clocks_from_json,
    fault_from_json,
    join_params_to_json,
)
from croupier_server.errors import Refused
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


PING_S: Final = 0.5

TAKEN_S: Final = 5.0
"""How long a gateway that stops waits until others have taken its players over."""


class ClusterGateway(WebSocketGateway):
    """Listens for players, and answers for those that it holds on the cluster's subjects."""

    def __init__(self, settings: Settings, link: Link, tally: Tally) -> None:
        super().__init__(settings, _not_here, _not_here, tally)
        self._link = link
        self._services: dict[str, SeatService] = {}
        self._params: dict[str, JoinParams] = {}  # of those who joined here
        self._freed = asyncio.Event()  # set whenever somebody is held here no more
        self._is_leaving = False
        self._there: list[Served] = []
        self._finding: dict[str, asyncio.Lock] = {}

    async def start(self) -> None:
        """See the base."""
        self._there = [
            await self._link.serve(f"{self._link.root}.gateway", self._say_here),
            await self._link.serve(f"{self._link.root}.active", self._hear_active),
        ]
        await super().start()

    async def verify(self) -> None:
        """The link was lost and is back: let go of whom others have taken over meanwhile.

        Who is connected here is here: the newest connection wins.
        """
        for service in list(self._services.values()):
            if service.seat.connection is None:
                await service.verify()

    async def leave_to_others(self) -> None:
        """Stop: all are sent away, to come back to other gateways that take them over from here."""
        self._is_leaving = True
        goodbye = CloseCode.RESTARTING, "the server restarts"
        self.shut(*goodbye)
        await self.stop(*goodbye)
        for served in self._there:
            await served.stop()
        if not await self._has_others():
            await self._let_all_go()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(TAKEN_S):
                while self._services:
                    self._freed.clear()
                    await self._freed.wait()
        await self._let_all_go()

    async def _let_all_go(self) -> None:
        for service in list(self._services.values()):
            await service.stop()
        self._services.clear()

    async def _has_others(self) -> bool:
        """Whether there are other gateways for players to go to."""
        try:
            await self._link.request(f"{self._link.root}.gateway", Message({"op": "ping"}), PING_S)
        except (NoOneThere, NoReply):
            return False
        return True

    async def _say_here(self, _: Message) -> Message:
        return Message({"re": "here"})

    @property
    def held(self) -> int:
        """How many players it answers for, those too who are away for a moment."""
        return len(self._services)

    # -- what the manager decides

    async def _admitted(self, params: JoinParams, seat: WebSocketSeat) -> Admission:
        """See the base; the player can be asked from the moment that the manager knows it."""
        key = session_key(seat.token)
        await self._serve(key, seat)
        try:
            admission = await self._ask_to_admit(key, params)
        except BaseException:
            await self._let_go(key)
            raise
        self._params[key] = params
        return admission

    async def _ask_to_admit(self, key: str, params: JoinParams) -> Admission:
        question = {"op": "admit", "key": key, "params": join_params_to_json(params)}
        answer = await self._ask(Message(question))
        age = None if answer.head.get("age") is None else answer.whole("age")
        return Admission(answer.text("name"), age, _clocks(answer.head))

    async def _hear_active(self, _: Message) -> None:
        """A manager is new in its place: it hears of all who are here, since lobbies are not kept.

        Those that it knows stay; who it can't have is sent away, to join again.
        """
        for key, service in list(self._services.items()):
            seat = service.seat
            if seat.is_dismissed or seat.connection is None:
                continue
            params = self._params.get(key) or _params_of(seat)
            try:
                await self._ask_to_admit(key, params)
            except Refused as refused:
                log.info("player is sent away", player=seat.name, reason=str(refused))
                seat.send_away(CloseCode.RESTARTING, "join again")

    async def _left(self, seat: WebSocketSeat) -> bool:
        """See the base."""
        key = session_key(seat.token)
        service = self._services.get(key)
        if service is None or service.seat is not seat:  # another gateway has it, or had it
            return True
        if self._is_leaving:
            return False
        if seat.is_dismissed:  # whoever comes back is claimed, and hears why
            await self._let_go(key)
            return True
        async with self._lock(key):
            try:
                answer = await self._ask(Message({"op": "leave", "key": key}))
            except Refused:  # no manager: it may come back
                return False
            is_gone = answer.head.get("is_gone") is True
            if is_gone:
                await self._let_go(key)
                if seat.connection is not None:  # it was back before its place was given away
                    seat.send_away(CloseCode.RESTARTING, "join again")
            else:
                await service.verify()
            return is_gone

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
        params = JoinParams.model_validate({"protocol": PROTOCOL, "name": name, **options})
        age = None if answer.head.get("age") is None else answer.whole("age")
        seat.joined(params, Admission(name, age, _clocks(answer.head)))
        for game, texts in (told if is_object(told) else {}).items():
            if is_array(texts):
                seat.remember(game, [_told(entry) for entry in texts])
        if answer.head.get("fault") is not None:
            seat.dismiss(fault_from_json(answer.head["fault"]))
        log.info("player is back at another gateway", player=name)
        return seat

    async def _ask(self, question: Message) -> Message:
        """The manager's answer.

        Raises:
            Refused: it says so, or there is none.
        """
        try:
            answer = await ask_manager(self._link, question, ASK_S)
        except NoManager as problem:
            raise Refused(f"{problem}; come back in a moment", ErrorCode.CLOSED) from None
        if answer.head.get("re") in {"refused", "unknown"}:
            data = answer.head.get("data")
            given = data if is_object(data) else None
            raise Refused(answer.text("reason"), answer.whole("code"), given)
        return answer

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
