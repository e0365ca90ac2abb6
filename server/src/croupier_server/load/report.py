"""What a load came to, as a JSON document and as text; the text says what the document says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any, Final

from croupier_server import __version__
from croupier_server.load.figures import DURATIONS, Figures
from croupier_server.load.plan import Plan

__all__ = ["document", "text"]

WIDTH: Final = 80

LATE_MS: Final = 10.0
"""Our own loop may be so late, but for one time in a hundred."""

BUSY_PERCENT: Final = 90
"""So much of a core may our process use."""

_COLUMNS: Final = ("p50", "p90", "p99", "p999", "max")


def document(plan: Plan, processes: int, figures: Figures, ended: str) -> dict[str, Any]:
    """All that was measured, as docs/load.md describes it."""
    idle = sum(visitor.is_idle for visitor in plan.visitors)
    durations = {name: one.to_json() for name, one in figures.durations.items()}
    return {
        "croupier": __version__,
        "url": plan.url,
        "players": len(plan.visitors) - idle,
        "idle": idle,
        "processes": processes,
        "ended": ended,
        "joins": {
            "tried": figures.opened,
            "joined": figures.joined,
            "seconds": round(figures.joins.seconds, 3),
            "per_second": _rate(figures.joined, figures.joins.seconds),
        },
        "games": {"begun": len(figures.begun), "over": len(figures.over)},
        "turns": {
            "count": figures.turns,
            "seconds": round(figures.playing.seconds, 3),
            "per_second": _rate(figures.turns, figures.playing.seconds),
            "busiest_second": max(figures.turns_in.values(), default=0),
        },
        "ends": {"done": figures.done, "left": figures.left},
        "durations_ms": durations,
        "errors": {
            kind: {"count": count, "example": figures.examples.get(kind, "")}
            for kind, count in figures.errors.most_common()
        },
        "generator": {
            "busy_percent": figures.busy_percent,
            "kib_per_connection": _each(figures.memory.kib, figures.memory.connections),
        },
        "warnings": list(_warnings(figures)),
    }


def _rate(count: int, seconds: float) -> float:
    return round(count / seconds, 1) if seconds else 0.0


def _each(kib: int, connections: int) -> float | None:
    """Of few connections nothing can be told: the code that they need first weighs more."""
    return round(kib / connections, 1) if connections >= 100 else None


def _warnings(figures: Figures) -> Iterator[str]:
    """What makes the figures say less than they seem to."""
    late = figures.durations["lag"].quantile_ms(0.99)
    busy = figures.busy_percent or 0
    if busy > BUSY_PERCENT:
        yield (
            f"this program took {busy} % of a core, so the figures above are partly its own; "
            "use more --processes"
        )
    elif late > LATE_MS:
        yield (
            f"this program was itself late (p99 {late:.1f} ms), so the figures above are partly "
            f"its own; it took only {busy} % of a core: the machine had no more time for it"
        )
    if figures.idle_asked:
        yield (
            f"idle players were asked to play, {figures.idle_asked:,} times, and answered: the "
            "tournament that they joined has begun; --idle-room has them wait in another one"
        )


# -- as text


def text(told: Mapping[str, Any]) -> Iterator[str]:
    """The document as lines of at most 80 characters."""
    yield from _head(told)
    yield ""
    yield from _table(told["durations_ms"])
    yield ""
    yield from _errors(told["errors"])
    yield from _own(told["generator"])
    for warning in told["warnings"]:
        yield from wrap(f"WARNING: {warning}", WIDTH, subsequent_indent="  ")


def _own(generator: Mapping[str, Any]) -> Iterator[str]:
    busy, kib = generator["busy_percent"], generator["kib_per_connection"]
    if busy is not None:
        weight = "" if kib is None else f", {kib:g} KiB a connection"
        yield f"Self     {busy} % of a core in each process{weight}"


def _head(told: Mapping[str, Any]) -> Iterator[str]:
    joins, turns, games, ends = (told[name] for name in ("joins", "turns", "games", "ends"))
    idle = f" and {told['idle']:,} idle ones" if told["idle"] else ""
    many = "1 process" if told["processes"] == 1 else f"{told['processes']} processes"
    yield _cut(f"Load on {told['url']}")
    yield f"Players  {told['players']:,}{idle} from {many}; ended: {told['ended']}"
    yield (
        f"Joins    {joins['joined']:,} of {joins['tried']:,} in {joins['seconds']:.1f} s, "
        f"{joins['per_second']:,.0f} a second"
    )
    yield f"Games    {games['begun']:,} begun, {games['over']:,} over"
    yield (
        f"Turns    {turns['count']:,} in {turns['seconds']:.1f} s, "
        f"{turns['per_second']:,.0f} a second, {turns['busiest_second']:,} in the busiest"
    )
    yield f"Ends     {ends['done']:,} done, {ends['left']:,} taken away by us"


def _table(durations: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    heads = "".join(f"{name:>8}" for name in ("p50", "p90", "p99", "p99.9", "max"))
    yield f"{'milliseconds':<30}{'count':>10}{heads}"
    for kind, title in DURATIONS.items():
        found = durations[kind]
        cells = [_cell(found.get(name)) for name in _COLUMNS]
        yield f"{title:<30}{found['count']:>10,}{''.join(cells)}"


def _cell(ms: float | None) -> str:
    if ms is None:
        return f"{'-':>8}"
    return f"{ms:8.1f}" if ms < 10_000 else f"{ms:8.0f}"


def _errors(errors: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if not errors:
        yield "Errors   none"
        return
    total = sum(error["count"] for error in errors.values())
    yield f"Errors   {total:,}"
    for kind, error in errors.items():
        example = f": {error['example']}" if error["example"] else ""
        yield _cut(f"{error['count']:>9,}  {' '.join(f'{kind}{example}'.split())}")


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."
