"""All rooms of a server: tournaments by their names, and the practice room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from croupier_common.jsontypes import shown
from croupier_common.messages import ErrorCode, JoinParams
from croupier_server.errors import Refused
from croupier_server.seats import Admission, Seat

__all__ = ["AnyRoom", "Rooms"]


class AnyRoom(Protocol):
    """Where players can be admitted."""

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """See :data:`~croupier_server.seats.Admit`."""
        ...

    def leave(self, seat: Seat) -> bool:
        """See :data:`~croupier_server.seats.Leave`."""
        ...


class Rooms:
    """Brings players to the room that they ask for, and to the first one if they ask for none.

    What follows a colon in the room that is asked for is the room's own business.

    Attributes:
        is_held: whether nobody is let in any more, since the server is about to stop.
    """

    def __init__(self, rooms: Mapping[str, AnyRoom]) -> None:
        self._rooms = rooms
        self._where: dict[Seat, AnyRoom] = {}
        self.is_held = False

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """See :data:`~croupier_server.seats.Admit`."""
        if self.is_held:
            raise Refused("the server restarts; come back in a moment", ErrorCode.CLOSED)
        room = self._room(params.room)
        admission = room.admit(params, seat)
        self._where[seat] = room
        return admission

    def leave(self, seat: Seat) -> bool:
        """See :data:`~croupier_server.seats.Leave`."""
        room = self._where.get(seat)
        # who took part before a restart was not admitted here, and a room may wait for it
        asked = self._rooms.values() if room is None else [room]
        has_left = all(room.leave(seat) for room in asked)
        if has_left:
            self.forget(seat)
        return has_left

    def forget(self, seat: Seat) -> None:
        """A player has nothing more to do here, whether it is still connected or not."""
        self._where.pop(seat, None)

    def _room(self, asked: str | None) -> AnyRoom:
        if asked is None:
            return next(iter(self._rooms.values()))
        room = self._rooms.get(asked.partition(":")[0])
        if room is None:
            raise Refused(
                f"no room {shown(asked, 80)}; there are {', '.join(self._rooms)}; "
                "leave room out to join the first",
                ErrorCode.INVALID_PARAMS,
            )
        return room
