"""Players over the course's protocol: the listening socket, the sign-up, and the seats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from croupier_common.messages import PROTOCOL, ErrorCode, JoinParams
from croupier_common.rules import FISH
from croupier_server.errors import Refused, UserError
from croupier_server.gateway.course_seat import CourseSeat, CourseTimes
from croupier_server.heartbeat import Heartbeat
from croupier_server.seats import Admission, Admit, Seat
from croupier_server.settings import Settings

__all__ = ["CourseGateway"]

log = structlog.get_logger(__name__)

_NAMES_READ_S: Final = 0.1
"""How long a name may take to be read that was sent at once, whatever else the loop has to do."""


class CourseGateway:
    """Listens for clients of the course's protocol, and makes them players.

    The course's names need not differ: the second ``ann`` is ``ann#2`` inside, and so on.

    Args:
        port: where to listen; 0 for any free one.
        admit: takes a seat with what its player says of itself, and gives its name and age as
            they count; or raises :class:`~croupier_server.errors.Refused`.
        leave: told when a player that was admitted has gone.
    """

    def __init__(
        self,
        settings: Settings,
        port: int,
        admit: Admit,
        leave: Callable[[Seat], object],
        times: CourseTimes = CourseTimes(),  # noqa: B008 - frozen
    ) -> None:
        self._settings = settings
        self._port = port
        self._admit = admit
        self._leave = leave
        self._times = times
        self._server: asyncio.Server | None = None
        self._heartbeat = Heartbeat()
        self._stopping = False
        self._seats: set[CourseSeat] = set()

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._seats)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._server is None:
            raise RuntimeError("the gateway has not started")
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Listen.

        Raises:
            UserError: the address can't be listened on, or these settings leave the course's
                clients no way to play.
        """
        _check(self._settings)
        host = self._settings.server.host
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._seat, host, self._port)
        except OSError as problem:
            raise UserError(
                f"can't listen on {host} port {self._port}: "
                f"{(problem.strerror or str(problem)).lower()}"
            ) from None
        log.info("listening for the course's clients", host=host, port=self.port)
        self._heartbeat.start()

    async def stop(self) -> None:
        """Stop listening and close what is open; may be called twice, or before the start."""
        self._stopping = True
        self._heartbeat.stop()
        if self._server is None:
            return
        self._server.close()
        seats = list(self._seats)
        for seat in seats:
            seat.close()
        for seat in seats:
            await seat.closed.wait()
        await self._server.wait_closed()

    # -- for the seats

    def connected(self, seat: CourseSeat) -> None:
        """See :class:`~croupier_server.gateway.course_seat.Owner`."""
        full = len(self._seats) >= self._settings.limits.max_connections
        self._seats.add(seat)
        if full or self._stopping:
            seat.close()
        elif self._unnamed(seat.address) > self._settings.limits.max_unjoined > 0:
            # of many that connect at once, the names may have come already and only need be read
            asyncio.get_running_loop().call_later(_NAMES_READ_S, self._drop_unnamed, seat)

    def named(self, seat: CourseSeat, name: str) -> None:
        """See :class:`~croupier_server.gateway.course_seat.Owner`."""
        try:
            admission = self._admitted(seat, name)
        except Refused as refused:
            log.info("join refused", name=name, reason=str(refused))
            return
        seat.name, seat.age = admission.name, admission.age

    def lost(self, seat: CourseSeat) -> None:
        """See :class:`~croupier_server.gateway.course_seat.Owner`."""
        self._seats.discard(seat)
        if seat.name:
            self._leave(seat)

    # -- within

    def _seat(self) -> CourseSeat:
        return CourseSeat(self, self._settings, self._times, self._heartbeat.meter)

    def _unnamed(self, address: str) -> int:
        return sum(not seat.name and seat.address == address for seat in self._seats)

    def _drop_unnamed(self, seat: CourseSeat) -> None:
        if not seat.name and self._unnamed(seat.address) > self._settings.limits.max_unjoined:
            log.info("client dropped: too many without a name", address=seat.address)
            seat.close()

    def _admitted(self, seat: CourseSeat, name: str) -> Admission:
        taken = {other.name.casefold() for other in self._seats}
        own, number = name, 1
        while True:
            if own.casefold() not in taken:
                try:
                    return self._admit(JoinParams(protocol=PROTOCOL, name=own), seat)
                except Refused as refused:
                    if refused.code != ErrorCode.NAME:
                        raise
            number += 1
            own = f"{name}#{number}"


def _check(settings: Settings) -> None:
    """Check that clients can play whom no call could tell rules, and who have no tokens.

    Raises:
        UserError: they can't.
    """
    if replace(settings.game.rules, turn_order=FISH.turn_order) != FISH:
        raise UserError(
            "game.rules: clients of the course's protocol know 'fish' only; "
            "set that, or leave the course's port out"
        )
    if settings.lobby.roster is not None:
        raise UserError(
            "lobby.roster: clients of the course's protocol have no tokens; "
            "leave the roster or the course's port out"
        )
