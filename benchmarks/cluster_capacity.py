"""What a cluster can carry, reckoned from what `bench cluster` and `cluster-idle` have measured.

    python -m benchmarks cluster cluster-idle --json found.json
    python -m benchmarks.cluster_capacity found.json

Each row is arithmetic: a core is a second of processor time a second, of which so much is used.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Costs", "lines"]

USED: Final = 0.7
"""How much of a core is used: more, and whoever comes at the same moment waits."""

TURN_S: Final = 2.0
"""How long a turn takes in a game of people's programs, thinking and all."""

ROLES: Final = ("gateway", "worker", "NATS", "PostgreSQL", "manager")
GAMES: Final = (100, 1_000, 10_000)
PLAYERS: Final = (1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured.

    Attributes:
        turn_us: by role, processor time for a turn.
        player_kib: by role, memory for a connected player.
        at_once: how many games were played at once.
    """

    turn_us: Mapping[str, float]
    player_kib: Mapping[str, float]
    at_once: int

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Costs:
        """From what the benchmarks wrote; of several loads, the largest."""
        figures: Mapping[str, float] = found["parts"]["cluster"]["figures"]
        at_once = max(int(name.split()[0]) for name in figures if " cluster turns/s" in name)
        idle = found["parts"].get("cluster-idle", {}).get("figures", {})
        return cls(
            {role: figures.get(f"{at_once} cluster {role} us a turn", 0.0) for role in ROLES},
            {role: idle.get(f"{role} KiB a player", 0.0) for role in ROLES},
            at_once,
        )

    def cores(self, role: str, turns_per_s: float) -> float:
        """How many cores a role needs for so many turns."""
        return turns_per_s * self.turn_us[role] / 1e6 / USED


def lines(costs: Costs) -> Iterator[str]:
    """The tables, in Markdown, each with its arithmetic."""
    total = sum(costs.turn_us.values())
    yield f"Processor time for a turn, with {costs.at_once} games at once:"
    yield "" + ", ".join(f"{role} {us:,.0f} us" for role, us in costs.turn_us.items())
    yield f"together {total:,.0f} us. Turns a second of a core that is used to {USED:.0%}:"
    yield f"{USED:g} / {total:,.0f} us = {USED * 1e6 / total:,.0f}."
    yield ""
    yield f"Cores = games / {TURN_S:g} s a turn x us a turn / {USED:g}:"
    yield ""
    yield f"| Games at once | Turns/s | {' | '.join(ROLES)} | Cores |"
    yield f"|---|---|{'---|' * len(ROLES)}---|"
    for games in GAMES:
        turns = games / TURN_S
        cores = [costs.cores(role, turns) for role in ROLES]
        cells = " | ".join(f"{each:.1f}" for each in cores)
        yield f"| {games:,} | {turns:,.0f} | {cells} | {math.ceil(sum(cores)):,} |"
    if any(costs.player_kib.values()):
        yield from _memory(costs)


def _memory(costs: Costs) -> Iterator[str]:
    roles = [role for role in ROLES if costs.player_kib[role]]
    yield ""
    yield "Memory = players x KiB a player, beyond what each role takes when it is empty:"
    yield ", ".join(f"{role} {costs.player_kib[role]:.1f} KiB" for role in roles) + "."
    yield ""
    yield f"| Players connected | {' | '.join(roles)} |"
    yield f"|---|{'---|' * len(roles)}"
    for players in PLAYERS:
        mib = [players * costs.player_kib[role] / 1024 for role in roles]
        yield f"| {players:,} | {' | '.join(f'{each:,.0f} MiB' for each in mib)} |"


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print("\n".join(lines(Costs.of(measured))))
