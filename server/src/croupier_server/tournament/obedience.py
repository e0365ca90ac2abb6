"""The operator's orders: looked for while a tournament is played, carried out, and answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import structlog

from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.tournament.ledger import Order, unplayed

if TYPE_CHECKING:
    from croupier_server.tournament.manager import Manager

__all__ = ["Obedience"]

log = structlog.get_logger(__name__)

_LOOK_S: Final = 0.25
"""How often orders are looked for."""


class Obedience:
    """Carries out orders, one after another, and no other decision in between."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    async def watch(self) -> None:
        """Look for orders until cancelled."""
        ledger = self._manager.ledger
        while True:
            for order in await ledger.orders():
                async with self._manager.decisions:
                    outcome = await self._obey(order)
                    log.info("order", verb=order.verb, argument=order.argument, outcome=outcome)
                    await ledger.answer(order, outcome)
            await asyncio.sleep(_LOOK_S)

    async def _obey(self, order: Order) -> str:
        """What came of an order, in words."""
        if self._manager.is_closed:
            return "refused: the tournament is over"
        match order.verb:
            case "pause" | "resume":
                is_paused = order.verb == "pause"
                await self._manager.ledger.status("paused" if is_paused else "running")
                self._manager.pause(is_paused=is_paused)
            case "start":
                return "refused: it has begun"
            case "stop":
                self._manager.stop()
            case "withdraw" | "disqualify":
                return await self._put_out(order)
            case "void" | "replay":
                return await self._revise(order)
            case "start":
                return "refused: it has begun already"
            case _:
                return f"refused: no order {order.verb!r}"
        return "done"

    async def _put_out(self, order: Order) -> str:
        name, players = order.argument, self._manager.players
        if name not in players:
            return f"refused: no player {name!r}"
        if (fault := players[name].fault) is not None:
            return f"refused: {name} is out already: {fault.verdict}"
        verdict = Verdict.WITHDRAWN if order.verb == "withdraw" else Verdict.DISQUALIFIED
        fault = Fault(verdict, Phase.TOURNAMENT, order.reason or verdict.when)
        await players.out(name, fault)
        await players.dismiss(name, fault)
        return "done"

    async def _revise(self, order: Order) -> str:
        """Void a game, or have it played again."""
        game, manager = order.argument, self._manager
        pairing = manager.pairing(game)
        if pairing is None:
            return f"refused: no game {game}"
        if game not in manager.results:
            is_done = order.verb == "replay" and manager.is_again(game)  # before a restart
            return "done; it is played again" if is_done else f"refused: game {game} is not over"
        if manager.is_final(pairing):
            return f"refused: a later round was paired from the result of {game}"
        if order.verb == "void":
            await manager.settle(unplayed(pairing, {}, "void"))
            return "done"
        if pairing.is_bye:
            return f"refused: {game} is a bye, with no game to play again"
        await manager.play_again(pairing)
        return "done; it is played again"
