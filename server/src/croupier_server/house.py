"""House players: processes of their own that connect like any player.

They are programs of croupier_client, started by name; nothing of it is imported here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from croupier_server.errors import UserError

__all__ = ["House", "HousePlayer"]

_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class HousePlayer:
    """A house player: what it is called, what it plays (``greedy``, ``minimax:2``), its age."""

    name: str
    target: str
    age: int | None = None


class House:
    """House players that are started together; on leaving it as a context, none of them runs on.

    Args:
        logs: a folder for what each of them prints, by name, and for the moments in which one
            failed.
    """

    def __init__(self, players: Sequence[HousePlayer], logs: Path) -> None:
        self._players = players
        self._logs = logs
        self._processes: list[tuple[HousePlayer, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end([process for _, process in self._processes])

    def start(self, url: str) -> None:
        """Start them; each connects by itself.

        Raises:
            UserError: one can't be started.
        """
        self._logs.mkdir(parents=True, exist_ok=True)
        for player in self._players:
            self._processes.append((player, _start(player, url, self._logs)))

    def check(self) -> None:
        """Check that none has ended too soon.

        Raises:
            UserError: one has, with where it says why.
        """
        for player, process in self._processes:
            if process.poll() is not None:
                raise UserError(
                    f"house player {player.name} ({player.target}) ended with exit code "
                    f"{process.returncode} before the start; see {_log(player, self._logs)}"
                )


def _log(player: HousePlayer, logs: Path) -> Path:
    return logs / f"{player.name}.log"


def _start(player: HousePlayer, url: str, logs: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "croupier_client", "join", url, player.target]
    command += ["--name", player.name, "--repro", str(logs)]
    if player.age is not None:
        command += ["--age", str(player.age)]
    try:
        with _log(player, logs).open("wb") as log:
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
