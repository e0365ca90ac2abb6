"""A gateway's service of one player that it holds, for workers and for other gateways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import structlog

from croupier_server.cluster.answering import MOVED, Answering
from croupier_server.cluster.hand_over import state_to
from croupier_server.cluster.link import Link, LinkDown, NoOneThere, NoReply, Served
from croupier_server.cluster.remote_seat import seat_subject
from croupier_server.cluster.wire import Message, WireError
from croupier_server.gateway.player import WebSocketSeat
from croupier_server.gateway.seat_state import SeatState

if TYPE_CHECKING:
    from croupier_server.operations.spans import Traces

__all__ = ["SeatService"]

log = structlog.get_logger(__name__)

_PING_S: Final = 1.0


class SeatService:
    """Serves one player's subject from :meth:`start` until the player is another gateway's.

    Args:
        seat: holds the player.
        on_gone: told when another gateway has the player; the seat was given up by then.
        traces: follows the requests of games that are traced, if any are.
    """

    def __init__(
        self,
        link: Link,
        seat: WebSocketSeat,
        on_gone: Callable[[WebSocketSeat], None],
        traces: Traces | None = None,
    ) -> None:
        self._link = link
        self._seat = seat
        self._on_gone = on_gone
        self._answering = Answering(seat, traces)
        self._subject = seat_subject(link.root, seat.session or "")
        self._served: Served | None = None
        self._is_over = False
        self._is_handing_over = False
        self._verifying = asyncio.Lock()

    @property
    def seat(self) -> WebSocketSeat:
        """Whom it serves."""
        return self._seat

    async def start(self, state: SeatState | None = None) -> None:
        """Serve.

        Args:
            state: what another gateway handed over; its open requests are asked on from here.
        """
        if state is not None:
            self._answering.go_on(state)
        await self._serve()

    async def stop(self) -> None:
        """Serve no more, and let whoever waits ask elsewhere; may be called twice."""
        self._is_over = True
        await self._serve_not()
        self._answering.end()

    async def verify(self) -> bool:
        """Whether the player is still ours; if another gateway has it, it is given up.

        For a gateway that was cut off, since the player may have come back elsewhere meanwhile.
        """
        async with self._verifying:
            if self._is_over or self._is_handing_over:
                return not self._is_over
            await self._serve_not()
            if await self._is_elsewhere():
                log.info("player is another gateway's", player=self._seat.name)
                self._let_go()
                return False
            await self._serve()
            return True

    # -- serving

    async def _serve(self) -> None:
        if self._served is None:
            self._served = await self._link.serve(self._subject, self._handle)

    async def _serve_not(self) -> None:
        served, self._served = self._served, None
        if served is not None:
            await served.stop()

    async def _is_elsewhere(self) -> bool:
        """Whether anybody else answers for the player.

        A subscriber that is silent may be we ourselves, on a connection that NATS has not yet
        found to be lost.
        """
        try:
            await self._link.request(self._subject, Message({"op": "ping"}), _PING_S)
        except (LinkDown, NoOneThere, NoReply):
            return False
        except WireError:
            return True
        return True

    def _let_go(self) -> None:
        """The player is another's now."""
        self._is_over = True
        self._answering.end()
        self._seat.give_up()
        self._on_gone(self._seat)

    async def _handle(self, message: Message) -> Message | None:
        if self._is_over:
            return MOVED
        op = message.text("op")
        if op == "ping":
            return Message({"re": "here", "is_here": self._seat.connection is not None})
        if op == "hand_over":
            return await self._hand_over()
        return await self._answering.answer(message)

    # -- to another gateway

    async def _hand_over(self) -> Message:
        """Everything that the player is, for another gateway; it is served here no more."""
        if self._is_handing_over:
            return MOVED
        self._is_handing_over = True
        await self._serve_not()  # so that nothing is told here that the other would not know
        state = self._answering.onto(self._seat.export())
        log.info("player handed over", player=self._seat.name)
        self._let_go()
        return state_to(state, self._link.max_payload)
