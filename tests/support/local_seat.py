"""Honest players without a transport, for tournaments in which nothing else matters."""

from __future__ import annotations

from dataclasses import dataclass, field

from croupier_common.messages import ServerNotification
from croupier_common.notation import state_from_json
from croupier_common.strategies import make
from croupier_common.verdict import Fault
from croupier_server.seats import Answer, Call, Kind, NoAnswer, out_of_it


@dataclass
class LocalSeat:
    """An honest player that answers at once."""

    name: str
    age: int | None = None
    plays: str = "first"
    kind: Kind = "remote"
    wants_events: bool = False
    wants_legal_actions: bool = False
    max_games: int = 1
    session: str | None = None
    is_far: bool = False
    told: list[ServerNotification] = field(default_factory=list[ServerNotification])
    asked: list[str] = field(default_factory=list[str])
    dismissed: list[Fault | None] = field(default_factory=list[Fault | None])
    out: NoAnswer | None = None

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        assert budget_ms is None or budget_ms > 0
        self.asked.append(call.id)
        if self.out is not None:
            return self.out
        if call.METHOD not in {"place", "move"}:
            return Answer(True, 0)
        state = state_from_json(dict(getattr(call.params, "state")))  # noqa: B009
        return Answer(make(self.plays, seed=0).choose(state).to_json(), 0)

    async def tell(self, message: ServerNotification) -> None:
        self.told.append(message)

    async def pardon(self) -> bool:
        return True

    def dismiss(self, fault: Fault | None) -> None:
        self.dismissed.append(fault)
        if fault is not None:
            self.out = out_of_it(fault)
