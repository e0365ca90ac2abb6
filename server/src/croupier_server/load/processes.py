"""One load from one process or several, and its end: by itself, in time, or by Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, cast

from croupier_server.load.figures import Figures
from croupier_server.load.generator import Progress, generate
from croupier_server.load.plan import Plan

__all__ = ["run_load"]

Signals = list[int]
"""Those that were received."""

_LOOK_S = 0.2


def run_load(
    plan: Plan, processes: int, tell: Callable[[Progress], None]
) -> tuple[Figures, Signals]:
    """Do what a plan says; the figures, of all processes together, and the signals that ended it.

    SIGINT and SIGTERM have all players leave, and what was measured until then is given.
    """
    if processes == 1:
        with _received() as signals:
            return generate(plan, lambda: bool(signals), tell), signals
    return _run_children(plan.shares(processes), tell)


@contextmanager
def _received() -> Generator[Signals]:
    """The signals that tell us to stop, as they come."""
    signals: Signals = []

    def note(signum: int, _frame: FrameType | None) -> None:
        signals.append(signum)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class _Child:
    """A process of the load, and what it has said so far."""

    process: BaseProcess
    progress: Progress
    figures: Figures | None = None


def _run_children(
    shares: Sequence[Plan], tell: Callable[[Progress], None]
) -> tuple[Figures, Signals]:
    children = _start(shares)
    try:
        with _received() as signals:
            _listen(children, signals, tell)
    finally:
        for pipe, child in children.items():
            pipe.close()  # which ends a child that is still there
            child.process.join()
            child.process.close()
    together = Figures()
    for child in children.values():
        if child.figures is None:
            together.error("load process ended early", "its output says why")
        else:
            together.merge(child.figures)
    return together, signals


def _start(shares: Sequence[Plan]) -> dict[Connection, _Child]:
    """Start a process for each share; Ctrl-C, which reaches them too, is the parent's affair."""
    context = get_context("spawn")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which they inherit
    children: dict[Connection, _Child] = {}
    try:
        for share in shares:
            ours, theirs = context.Pipe()
            process = context.Process(target=_be_child, args=(share, theirs), daemon=True)
            process.start()
            theirs.close()
            children[ours] = _Child(process, {})
    finally:
        signal.signal(signal.SIGINT, before)
    return children


def _listen(
    children: dict[Connection, _Child], signals: Signals, tell: Callable[[Progress], None]
) -> None:
    """Take what the children say, until all have said all; tell them once if they are to stop."""
    talking = set(children)
    is_told = False
    while talking:
        if signals and not is_told:
            is_told = True
            for pipe in talking:
                _send(pipe, "stop")
        for ready in wait(talking, _LOOK_S):
            pipe = cast("Connection", ready)  # what else could it be
            said = _receive(pipe)
            if isinstance(said, dict):
                children[pipe].progress = said
                tell(_sum(children.values()))
                continue
            children[pipe].figures = said
            talking.remove(pipe)


def _receive(pipe: Connection) -> Any:
    """What a child says: a progress, its figures, or None when it is gone."""
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return None


def _send(pipe: Connection, message: object) -> None:
    try:
        pipe.send(message)
    except OSError:  # it is gone
        return


def _sum(children: Iterable[_Child]) -> Progress:
    together: dict[str, int] = {}
    for child in children:
        for name, count in child.progress.items():
            together[name] = together.get(name, 0) + count
    return together


def _be_child(share: Plan, pipe: Connection) -> None:
    """What a child does; a word of the parent's, or its end, is the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it is not inherited

    def is_over() -> bool:
        try:
            return pipe.poll()
        except OSError:
            return True

    figures = generate(share, is_over, lambda progress: _send(pipe, dict(progress)))
    _send(pipe, figures)
