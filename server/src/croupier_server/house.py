"""House players: processes of their own that connect like any player.

They are programs of croupier_client, started by name; nothing of it is imported here.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from croupier_server.errors import UserError

__all__ = ["HousePlayer", "running"]

_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class HousePlayer:
    """A house player: what it is called, what it plays (``greedy``, ``minimax:2``), its age."""

    name: str
    target: str
    age: int | None = None


@contextlib.contextmanager
def running(
    players: Sequence[HousePlayer], url: str, logs: Path | None
) -> Generator[Sequence[subprocess.Popen[bytes]]]:
    """House players that are connecting to a server; when this is left, none of them runs on.

    Args:
        logs: a folder for what each of them prints, by name; None to lose it.

    Raises:
        UserError: one can't be started.
    """
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for player in players:  # one by one, so that those before a failure are ended
            processes.append(_start(player, url, logs))  # noqa: PERF401
        yield processes
    finally:
        _end(processes)


def _start(player: HousePlayer, url: str, logs: Path | None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "croupier_client", "join", url, player.target]
    command += ["--name", player.name]
    if player.age is not None:
        command += ["--age", str(player.age)]
    try:
        if logs is None:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        logs.mkdir(parents=True, exist_ok=True)
        with (logs / f"{player.name}.log").open("wb") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
    except OSError as problem:
        raise UserError(f"can't start house player {player.name}: {problem}") from None


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End what still runs, politely first; all are waited for together."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
