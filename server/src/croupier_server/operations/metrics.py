"""The counts of a process as Prometheus reads them; no player, game or tournament is named.

What changes in the loop is looked at in the loop, in microseconds; the text is made in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import TypeVar

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from croupier_server import __version__
from croupier_server.operations.tally import Distribution, Gauges, Tally

__all__ = ["Metrics"]

Labels = TypeVar("Labels", bound=tuple[str, ...])


class Metrics:
    """Makes the text that Prometheus asks for.

    Args:
        gauges: looked at in the loop, for each text.
    """

    def __init__(self, tally: Tally, gauges: Callable[[], Gauges]) -> None:
        self._tally = tally
        self._gauges = gauges

    async def text(self, accept: str = "") -> tuple[bytes, str]:
        """The text and its content type.

        Args:
            accept: the header of that name, by which the format is chosen.
        """
        collected = _Collected(self._tally, self._gauges())
        return await asyncio.to_thread(_rendered, collected, accept)


class _Collected(Collector):
    """One look at everything."""

    def __init__(self, tally: Tally, gauges: Gauges) -> None:
        self._tally = tally
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        yield _gauge("build_info", "The version that runs.", {(__version__,): 1}, "version")
        yield from self._games()
        yield from self._turns()
        yield from self._process()

    def _games(self) -> Iterable[Metric]:
        tally, gauges = self._tally, self._gauges
        yield _counter(
            "games_started", "Games begun, or taken up after a restart.", {(): tally.started}
        )
        ended = {(how,): float(number) for how, number in tally.ended.items()}
        yield _counter("games_ended", "Games that are over, by how they ended.", ended, "how")
        yield _gauge("games_running", "Games that are being played.", {(): tally.running})
        yield _gauge("games_waiting", "Pairings that wait to be played.", {(): gauges.waiting})
        verdicts = {key: float(number) for key, number in dict(tally.verdicts).items()}
        yield _counter("verdicts", "Verdicts on players.", verdicts, "verdict", "phase")

    def _turns(self) -> Iterable[Metric]:
        tally = self._tally
        seats = {(kind,): spread for kind, spread in tally.think.items()}
        turns = {key: float(sum(spread.counts)) for key, spread in seats.items()}
        yield _counter("turns", "Turns taken, by how the player came.", turns, "seat")
        yield _histogram("think_seconds", "From request to answer.", seats, "seat")
        yield _histogram(
            "turn_overhead_seconds", "The croupier's own time in a turn.", {(): tally.overhead}
        )
        yield _counter(
            "messages_dropped", "Replies that answered nothing that was open.", {(): tally.dropped}
        )

    def _process(self) -> Iterable[Metric]:
        tally, gauges = self._tally, self._gauges
        yield _histogram("loop_lag_seconds", "How late the loop was at a beat.", {(): tally.lag})
        connections = {(kind,): float(number) for kind, number in gauges.connections.items()}
        yield _gauge("connections", "Players that are connected.", connections, "kind")
        yield _gauge("viewers", "Who watches games live.", {(): gauges.viewers})
        yield _histogram(
            "store_commit_seconds", "What a group of writes took.", {(): tally.store.commits}
        )
        yield _counter(
            "store_failures", "Groups that could not be written.", {(): tally.store.failures}
        )
        yield _gauge(
            "draining", "1 if no games are started any more.", {(): float(gauges.is_draining)}
        )


def _rendered(collected: Collector, accept: str) -> tuple[bytes, str]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collected)
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    encode, kind = choose_encoder(accept)
    return encode(registry), kind


def _counter(name: str, about: str, values: Mapping[Labels, float], *labels: str) -> Metric:
    metric = CounterMetricFamily(f"croupier_{name}", about, labels=labels)
    for key, value in values.items():
        metric.add_metric(key, value)
    return metric


def _gauge(name: str, about: str, values: Mapping[Labels, float], *labels: str) -> Metric:
    metric = GaugeMetricFamily(f"croupier_{name}", about, labels=labels)
    for key, value in values.items():
        metric.add_metric(key, value)
    return metric


def _histogram(
    name: str, about: str, spreads: Mapping[Labels, Distribution], *labels: str
) -> Metric:
    metric = HistogramMetricFamily(f"croupier_{name}", about, labels=labels)
    for key, spread in spreads.items():
        bounds = [*map(repr, spread.bounds), "+Inf"]
        reached = accumulate(list(spread.counts))  # a copy: it may be added to meanwhile
        buckets: list[tuple[str, float]] = list(zip(bounds, reached, strict=True))
        metric.add_metric(key, buckets, spread.total)
    return metric
