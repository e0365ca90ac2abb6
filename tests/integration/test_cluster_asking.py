"""A link that is down, or a game that is another's by now, is waited for or left, and hangs not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from croupier_common.board import Board
from croupier_common.game import NumberedEvent
from croupier_common.outcome import Color
from croupier_common.rules import FISH
from croupier_server.cluster.asking import NoManager, ask_manager
from croupier_server.cluster.link import Link
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.wire import Message
from croupier_server.croupier import Croupier, GameReport, Table
from croupier_server.errors import Fenced
from croupier_server.seats import Answer, Call, NoAnswer
from croupier_server.settings import Clocks
from support.chaos_proxy import ChaosProxy
from support.local_seat import LocalSeat

PATIENCE_S = 15.0


async def echo(message: Message) -> Message:
    return message


async def test_question_while_the_link_is_down_waits_and_holds_up_nothing(
    nats_server: NatsServer,
) -> None:
    async with ChaosProxy("127.0.0.1", nats_server.port) as wire:
        url = nats_server.url.replace(f":{nats_server.port}", f":{wire.port}")
        manager = await Link.open(nats_server.url, name="manager", root="test.1")
        link = await Link.open(url, name="test", root="test.1")
        try:
            await manager.serve("test.1.manager", echo)
            wire.refuse()
            wire.reset()
            async with asyncio.timeout(PATIENCE_S):
                while link.is_connected:  # noqa: ASYNC110 - there is no event for the loss
                    await asyncio.sleep(0.01)
                asked = asyncio.create_task(ask_manager(link, Message({"op": "claim"})))
                with pytest.raises(NoManager):
                    await ask_manager(link, Message({"op": "claim"}), 0.1)
                assert not asked.done()
                wire.accept()
                assert (await asked).text("op") == "claim"
        finally:
            await link.close()
            await manager.close()


class Taken(LocalSeat):
    """A player whose gateway knows that another has its game."""

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        raise Fenced(f"{call.id} was taken over")


class Nowhere:
    """Takes what is written."""

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        pass


async def test_game_that_is_taken_over_while_it_starts_is_told_from_one_that_failed() -> None:
    seats = {Color.RED: LocalSeat("ada"), Color.WHITE: Taken("bob")}
    croupier = Croupier(
        Table("1.1", Board.from_json([[1] * 4] * 4), FISH, seats), Clocks(), Nowhere()
    )
    with pytest.raises(Fenced):
        await croupier.play()
