"""JetStream's streams, as the cluster's parts make them."""

from __future__ import annotations

from typing import Final, Protocol, cast

from nats.js import JetStreamContext
from nats.js.api import StreamConfig

from croupier_server.cluster.link import Link

__all__ = ["jetstream", "make_stream"]

_ANSWER_S: Final = 2.0


class _Making(Protocol):
    """What the library does not quite type."""

    async def add_stream(self, config: StreamConfig) -> object: ...


def jetstream(link: Link) -> JetStreamContext:
    """JetStream, over a role's link."""
    return JetStreamContext(link.nats, timeout=_ANSWER_S)


async def make_stream(streams: JetStreamContext, config: StreamConfig) -> None:
    """Make a stream; one that is there already, with the same configuration, stays as it is.

    Raises:
        NatsError: that can't be done now.
    """
    await cast("_Making", streams).add_stream(config)
