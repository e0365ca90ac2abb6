"""The manager's desk: answers gateways and workers about players, for its tournaments' rooms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import structlog

from croupier_common.messages import ErrorCode
from croupier_server.cluster.link import Link, LinkDown, NoOneThere, NoReply, Served
from croupier_server.cluster.remote_seat import Patience, RemoteSeat, seat_subject
from croupier_server.cluster.wire import (
    Message,
    WireError,
    clocks_to_json,
    fault_from_json,
    fault_to_json,
    join_params_from_json,
)
from croupier_server.errors import Refused
from croupier_server.room import Claim, Room
from croupier_server.rooms import Rooms
from croupier_server.seats import Admission, Seat
from croupier_server.settings import Settings

__all__ = ["Desk", "FarPlayers"]

log = structlog.get_logger(__name__)

LOBBY_S: Final = 2.0
"""How often it is looked whether those who have signed up are still held by a gateway."""

MOMENT_S: Final = 0.5
"""How long a player may be between two gateways."""

PING_S: Final = 2.0

PINGS_A_SECOND: Final = 500
"""How many of those in the lobbies are asked for, so that it costs no more with more of them."""

AT_ONCE: Final = 100
"""How many players are asked for at a time."""


class FarPlayers:
    """Makes the seats of players that gateways hold; see :class:`~croupier_server.room.Gateway`."""

    def __init__(self, link: Link, settings: Settings) -> None:
        self._link = link
        self._settings = settings

    def seat(self, key: str, params: Any, admission: Admission) -> RemoteSeat:
        """The seat of somebody who joins, or took part before."""
        return RemoteSeat(
            *(self._link, admission.name, key),
            age=admission.age,
            wants_events=params.events,
            wants_legal_actions=params.legal_actions,
            max_games=params.max_games,
            patience=Patience.of(self._settings),
        )

    def restore(
        self,
        key: str,
        params: Any,
        admission: Admission,
        returned: Callable[[], None],  # noqa: ARG002 - the desk says so
    ) -> Seat:
        """See :class:`~croupier_server.room.Gateway`."""
        return self.seat(key, params, admission)

    async def here(self, seats: Sequence[Seat]) -> Sequence[str]:
        """See :class:`~croupier_server.room.Gateway`."""
        far = [seat for seat in seats if isinstance(seat, RemoteSeat)]
        found: list[str] = []
        for first in range(0, len(far), AT_ONCE):
            some = far[first : first + AT_ONCE]
            there = await asyncio.gather(*(self.is_held(seat) for seat in some))
            found += [seat.name for seat, is_held in zip(some, there, strict=True) if is_held]
        return found

    async def is_held(self, seat: RemoteSeat) -> bool:
        """Whether some gateway holds a player, be it away for a moment."""
        try:
            subject = seat_subject(self._link.root, seat.session or "")
            await self._link.request(subject, Message({"op": "ping"}), PING_S)
        except NoOneThere:
            return False
        except (NoReply, WireError):  # who can tell
            return True
        return True


class Desk:
    """Answers for the manager that is active; nobody else does.

    Args:
        ended: told the pairing's row of a game that a worker says is over.
    """

    def __init__(
        self,
        link: Link,
        doors: Rooms,
        rooms: Mapping[str, Room],
        players: FarPlayers,
        ended: Callable[[int], None],
    ) -> None:
        self._link = link
        self._doors = doors
        self._rooms = rooms
        self._players = players
        self._ended = ended
        self._served: list[Served] = []
        self._ops = {
            "admit": self._admit,
            "leave": self._leave,
            "claim": self._claim,
            "sanction": self._sanction,
        }

    async def open(self) -> None:
        """Answer from now on."""
        for subject, handler in (
            ("manager", self._answer),
            ("ended", self._hear_ended),
            ("missing", self._hear_missing),
        ):
            self._served.append(await self._link.serve(f"{self._link.root}.{subject}", handler))
        with suppress(LinkDown):  # then the gateways hear of it when they ask
            await self._link.publish(f"{self._link.root}.active", Message({"op": "active"}))

    async def close(self) -> None:
        """Answer nobody any more."""
        for served in self._served:
            await served.stop()
        self._served.clear()

    async def watch_lobbies(self) -> None:
        """Take those out of the lobbies whom no gateway holds any more, until this is cancelled."""
        while True:
            waiting = sum(len(room.lobby_seats) for room in self._rooms.values())
            await asyncio.sleep(max(LOBBY_S, waiting / PINGS_A_SECOND))
            for room in self._rooms.values():
                if room.sign_ups is None:
                    continue
                for seat in await self._unheld(room.lobby_seats):
                    log.info("player is held by no gateway any more", player=seat.name)
                    self._doors.leave(seat)

    async def _unheld(self, seats: Sequence[Seat]) -> Sequence[RemoteSeat]:
        """Those that no gateway holds, and not for a moment only, on the way to another."""
        for wait_s in (0.0, MOMENT_S):
            await asyncio.sleep(wait_s)
            here = set(await self._players.here(seats))
            seats = [seat for seat in seats if seat.name not in here]
        return [seat for seat in seats if isinstance(seat, RemoteSeat)]

    # -- questions

    async def _answer(self, message: Message) -> Message:
        op = self._ops.get(message.text("op"))
        if op is None:
            raise WireError(f"no question: {message.text('op')[:40]!r}")
        return await op(message)

    async def _admit(self, message: Message) -> Message:
        """A player wants to join; asked again, it gets the same answer."""
        key, params = message.text("key"), join_params_from_json(message.head.get("params"))
        for room in self._rooms.values():
            known = room.seat_of(key)
            if known is not None:
                room.here(known)
                return _admitted(Admission(known.name, known.age, room.settings.clocks))
        if message.head.get("only_known") is True:
            return _unknown("join again, without a session")
        seat = self._players.seat(key, params, Admission(params.name, None))
        try:
            admission = self._doors.admit(params, seat)
        except Refused as refused:
            return Message(
                {
                    "re": "refused",
                    "reason": str(refused),
                    "code": int(refused.code),
                    "data": refused.data,
                }
            )
        seat.name, seat.age = admission.name, admission.age
        return _admitted(admission)

    async def _leave(self, message: Message) -> Message:
        """A player is away; whether nobody waits for it."""
        key = message.text("key")
        for room in self._rooms.values():
            seat = room.seat_of(key)
            if seat is not None:
                is_gone = room.leave(seat)
                if is_gone:
                    self._doors.forget(seat)
                return Message({"re": "left", "is_gone": is_gone})
        return Message({"re": "left", "is_gone": True})

    async def _claim(self, message: Message) -> Message:
        """A player is back at a gateway that does not know it, and no other one does."""
        key = message.text("key")
        for room in self._rooms.values():
            claim = await room.claim(key)
            if claim is not None:
                return _claimed(claim)
        return _unknown("no such session; join without one")

    async def _sanction(self, message: Message) -> Message:
        """A player was ejected from a game; whether that puts it out of more."""
        room = self._rooms.get(message.text("tournament"))
        if room is None:
            raise WireError("a tournament that is not played here")
        fault = fault_from_json(message.head.get("fault"))
        is_out = await room.sanction(message.text("game"), message.text("name"), fault)
        return Message({"re": "sanctioned", "is_out": is_out})

    # -- notes

    async def _hear_ended(self, message: Message) -> None:
        self._ended(message.whole("pairing"))

    async def _hear_missing(self, message: Message) -> None:
        """A worker could not find a player's gateway; if so, others need not wait for it either."""
        room = self._rooms.get(message.text("tournament"))
        name = message.text("name")
        if room is None or (seat := room.seat_named(name)) is None:
            return
        if isinstance(seat, RemoteSeat) and not await self._players.is_held(seat):
            room.gone(name)


_SESSION: Final = int(ErrorCode.SESSION)


def _unknown(reason: str) -> Message:
    return Message({"re": "unknown", "reason": reason, "code": _SESSION})


def _admitted(admission: Admission) -> Message:
    told: dict[str, Any] = {"re": "admitted", "name": admission.name, "age": admission.age}
    if admission.clocks is not None:
        told["clocks"] = clocks_to_json(admission.clocks)
    return Message(told)


def _claimed(claim: Claim) -> Message:
    seat = claim.seat
    return Message(
        {
            "re": "claimed",
            "name": seat.name,
            "age": seat.age,
            "clocks": clocks_to_json(claim.clocks),
            "options": {
                "events": seat.wants_events,
                "legal_actions": seat.wants_legal_actions,
                "max_games": seat.max_games,
            },
            "fault": None if claim.fault is None else fault_to_json(claim.fault),
            "told": {game: list(map(list, told)) for game, told in claim.told.items()},
        }
    )
