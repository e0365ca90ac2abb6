"""The stream of events: what workers have written down, told to whoever follows a game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

from croupier_common.game import NumberedEvent
from croupier_server.cluster.link import Link, LinkDown
from croupier_server.cluster.streams import jetstream, make_stream
from croupier_server.cluster.wire import Message
from croupier_server.croupier import EventSink, GameReport

__all__ = ["EventStream", "ToldSink"]

_KEPT_S: Final = 300.0
"""For how long events can be followed by whoever comes late; the database has them for ever."""

_KEPT_BYTES: Final = 64 << 20


class ToldSink:
    """Writes a game's events, and then says on the stream that there are some.

    Args:
        game: the game's row.
    """

    def __init__(self, sink: EventSink, link: Link, game: int) -> None:
        self._sink = sink
        self._link = link
        self._game = game

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        """See :class:`~croupier_server.croupier.EventSink`."""
        await self._sink.write(events, report)
        if events:
            told = {"op": "events", "game": self._game, "seq": events[-1][0].seq}
            with suppress(LinkDown):  # whoever follows looks by itself, now and then
                await self._link.publish(f"{self._link.root}.events.{self._game}", Message(told))


class EventStream:
    """The stream that keeps what was told for a while."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._name = f"{link.root.replace('.', '-')}-events"

    async def open(self) -> None:
        """Make it if it is not there.

        Raises:
            NatsError: it can't be made now.
        """
        await make_stream(
            jetstream(self._link),
            StreamConfig(
                name=self._name,
                subjects=[f"{self._link.root}.events.*"],
                retention=RetentionPolicy.LIMITS,
                storage=StorageType.MEMORY,
                discard=DiscardPolicy.OLD,
                max_age=_KEPT_S,
                max_bytes=_KEPT_BYTES,
            ),
        )
