"""The queue of games: what a manager offers, and what workers take, on a JetStream work queue.

A message stays until it is acknowledged, which is when the game's end is in the database. There is
one for each pairing at most, so that to offer what is still there changes nothing. The queue is a
hint: the database says what has to be played, and a queue that was lost is filled again from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import APIError

from croupier_common.verdict import Verdict
from croupier_server.cluster.link import Link
from croupier_server.cluster.streams import jetstream, make_stream
from croupier_server.cluster.wire import Message, WireError

__all__ = ["Delivery", "GamesQueue", "Offer", "Taker"]

log = structlog.get_logger(__name__)

_IS_THERE: Final = 10077
"""JetStream's code for a subject that has as many messages as it may have."""

_CONSUMER: Final = "workers"

_MOST_TAKEN: Final = 100_000
"""How many games all workers together may have; each has a limit of its own."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A game to be played.

    Attributes:
        pairing: the pairing's row; ``tournament`` the tournament's.
        attempt: from 1; more where it is played again.
        unseated: why some that were paired are not at the table.
    """

    tournament: int
    pairing: int
    attempt: int
    unseated: Mapping[str, Verdict]

    def message(self) -> Message:
        """As it stands in the queue."""
        return Message(
            {
                "tournament": self.tournament,
                "pairing": self.pairing,
                "attempt": self.attempt,
                "unseated": {name: why.value for name, why in self.unseated.items()},
            }
        )

    @classmethod
    def read(cls, message: Message) -> Offer:
        """The offer in a message.

        Raises:
            WireError: there is none.
        """
        head = message.head
        try:
            numbers = [head[name] for name in ("tournament", "pairing", "attempt")]
            unseated = {str(name): Verdict(why) for name, why in head["unseated"].items()}
        except (KeyError, ValueError, AttributeError) as problem:
            raise WireError(f"no offer of a game: {problem!r}") from None
        if not all(type(number) is int for number in numbers):
            raise WireError("no offer of a game: a number is none")
        tournament, pairing, attempt = numbers
        return cls(tournament, pairing, attempt, unseated)


class Delivery:
    """A game that this worker was given; nobody else is, as long as it says that it is at it."""

    __slots__ = ("_msg", "offer")

    def __init__(self, msg: Msg, offer: Offer) -> None:
        self._msg = msg
        self.offer = offer

    async def done(self) -> None:
        """It is over: nobody has to play it."""
        with suppress(NatsError):  # then it comes again, and the database knows that it is over
            await self._msg.ack()

    async def still_at_it(self) -> None:
        """It goes on."""
        with suppress(NatsError):
            await self._msg.in_progress()

    async def give_back(self, after_s: float = 0.0) -> None:
        """Another worker is to go on with it, at once or after a while."""
        with suppress(NatsError):
            await self._msg.nak(after_s or None)


class GamesQueue:
    """The queue's end at the manager.

    Args:
        lost_s: after how long a silent worker's game is given to another.
    """

    def __init__(self, link: Link, lost_s: float) -> None:
        self._link = link
        self._lost_s = lost_s
        self._stream = f"{link.root.replace('.', '-')}-games"
        self._js = jetstream(link)

    @property
    def link(self) -> Link:
        """The way to it."""
        return self._link

    async def open(self) -> None:
        """Make the queue if it is not there.

        Raises:
            NatsError: it can't be made now.
        """
        await make_stream(
            self._js,
            StreamConfig(
                name=self._stream,
                subjects=[self._subject("*")],
                retention=RetentionPolicy.WORK_QUEUE,
                storage=StorageType.FILE,
                discard=DiscardPolicy.NEW,
                discard_new_per_subject=True,
                max_msgs_per_subject=1,
            ),
        )

    async def offer(self, offer: Offer) -> bool:
        """Offer a game; False if its pairing is in the queue already, or being played.

        Raises:
            NatsError: that can't be done now.
        """
        try:
            await self._js.publish(self._subject(offer.pairing), offer.message().to_bytes())
        except APIError as problem:
            if problem.err_code == _IS_THERE:
                return False
            raise
        return True

    async def taker(self) -> Taker:
        """The queue's end at a worker.

        Raises:
            NatsError: it can't be had now.
        """
        await self.open()
        config = ConsumerConfig(
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=self._lost_s,
            max_ack_pending=_MOST_TAKEN,
            max_deliver=-1,
        )
        subscription = await self._js.pull_subscribe(
            self._subject("*"), durable=_CONSUMER, stream=self._stream, config=config
        )
        return Taker(subscription)

    def _subject(self, pairing: object) -> str:
        return f"{self._link.root}.games.{pairing}"


class Taker:
    """Takes games from the queue."""

    def __init__(self, subscription: JetStreamContext.PullSubscription) -> None:
        self._subscription = subscription

    async def take(self, most: int, wait_s: float) -> Sequence[Delivery]:
        """Some games, as soon as there is one; none if there is none for so long.

        Raises:
            NatsError: the queue can't be reached, or is not there any more.
        """
        try:
            found = await self._subscription.fetch(most, timeout=wait_s)
        except TimeoutError:
            return ()
        deliveries: list[Delivery] = []
        for msg in found:
            try:
                offer = Offer.read(Message.from_bytes(msg.data))
            except WireError as problem:  # nobody can ever play it
                log.error("a message in the queue of games is dropped", reason=str(problem))
                await msg.term()
            else:
                deliveries.append(Delivery(msg, offer))
        return deliveries

    async def close(self) -> None:
        """Take nothing any more."""
        with suppress(NatsError):
            await self._subscription.unsubscribe()
