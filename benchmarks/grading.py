"""What `croupier grade` itself costs: its time beside that of the games, and its memory."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.processes import Failed, run_alone
from benchmarks.report import Budget, Part, Table, median, shown
from benchmarks.sizes import Size

__all__ = ["measure"]

LEVEL: Final = "greedy"
BOARD: Final = "8x8,fish=1-5"
WORKERS: Final = 2
TIMEOUT_S: Final = 1_200.0

PLAYER: Final = """
import json, sys

for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        result = {"legal_actions": True}
        if call["method"] != "hello":
            actions = call["params"].get("legal_actions")
            result = actions[0] if actions else True
        reply = {"jsonrpc": "2.0", "id": call["id"], "result": result}
        print(json.dumps(reply), flush=True)
"""

MANIFEST: Final = """
name = "Player {number}"
command = "python3 -I -S player.py"
"""

RUBRIC: Final = """
title = "Benchmark"
seed = 1
[game]
board = "{board}"
[[line]]
id = "games"
title = "It plays to the end"
kind = "games"
against = "{level}"
count = {count}
points = 100
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A grading that was measured.

    Attributes:
        wall_s: from the start of the process to its end.
        games_s: of that, the games' time, over all submissions.
        blocks_s: the time of each block of two games.
        own_s: all that was not games, for all that ran at a time.
        peak_mib: the most memory that the grader's process held.
    """

    submissions: int
    wall_s: float
    games_s: float
    blocks_s: float
    own_s: float
    peak_mib: float

    @property
    def overhead(self) -> float:
        """The grader's own time as a share of the games'."""
        return self.own_s / self.games_s


def measure(size: Size) -> Part:
    """Grade folders of trivial players, each folder larger than the last."""
    workers = min(WORKERS, max(1, (os.cpu_count() or 2) - 1))
    runs = [grade(count, size.graded_blocks, workers) for count in size.graded]
    first, last = runs[0], runs[-1]
    each = [run.wall_s / run.submissions for run in runs]
    return Part(
        "grading",
        f"Folders of trivial players in Python, without isolation, against {LEVEL}: "
        f"{size.graded_blocks} blocks of 2 games on {BOARD} each, {workers} at a time. "
        "Own time is all that is no game: the start of the grader and of all programs, their end, "
        "results and reports.",
        Table(
            ("submissions", "s", "s each", "block s", "own %", "peak MiB"),
            [
                (
                    str(run.submissions),
                    shown(run.wall_s),
                    shown(run.wall_s / run.submissions),
                    shown(run.blocks_s),
                    shown(100 * run.overhead),
                    shown(run.peak_mib),
                )
                for run in runs
            ],
        ),
        {
            "block s": median(run.blocks_s for run in runs),
            "own share": last.overhead,
            "s each, largest to smallest": each[-1] / each[0],
            "peak, largest to smallest": last.peak_mib / first.peak_mib,
        },
        [
            Budget("a block, seconds", median(r.blocks_s for r in runs), 3.0, at_least=False),
            Budget("own time, % of the games'", 100 * last.overhead, 10.0, at_least=False),
            Budget("time each, largest to smallest", each[-1] / each[0], 1.2, at_least=False),
            Budget("peak memory, likewise", last.peak_mib / first.peak_mib, 1.2, at_least=False),
        ],
    )


def grade(submissions: int, blocks: int, workers: int) -> Run:
    """Grade so many submissions."""
    with tempfile.TemporaryDirectory(prefix="croupier-benchmark-") as name:
        folder = Path(name)
        hand_in(folder, submissions, blocks)
        began = time.perf_counter()
        peak_mib = run(folder, workers)
        wall_s = time.perf_counter() - began
        return found(folder / "out", submissions, wall_s, workers, peak_mib)


def hand_in(folder: Path, submissions: int, blocks: int) -> None:
    """Write the submissions and the rubric."""
    text = RUBRIC.format(board=BOARD, level=LEVEL, count=2 * blocks)
    (folder / "rubric.toml").write_text(text, encoding="utf-8")
    for number in range(submissions):
        place = folder / "in" / f"player-{number:03}"
        place.mkdir(parents=True)
        manifest = MANIFEST.format(number=number)
        (place / "player.toml").write_text(manifest, encoding="utf-8")
        (place / "player.py").write_text(PLAYER, encoding="utf-8")


def run(folder: Path, workers: int) -> float:
    """Run the grader in a folder; gives the most memory that it held, in MiB."""
    arguments = ["-m", "benchmarks.grading", str(folder), str(workers)]
    told = run_alone("croupier grade", arguments, limit_s=TIMEOUT_S)
    return float(told.split()[-1])


def found(out: Path, submissions: int, wall_s: float, workers: int, peak_mib: float) -> Run:
    """What the results say of the time."""
    matches: list[dict[str, Any]] = [
        json.loads(path.read_text(encoding="utf-8"))["matches"][LEVEL]
        for path in out.glob(".grading/*/evidence.json")
    ]
    if len(matches) != submissions:
        raise Failed(f"{len(matches)} of {submissions} submissions were graded")
    for match in matches:
        if match["problem"]:
            raise Failed(f"a player did not play: {match['problem']}")
    games_s = sum(match["games_s"] for match in matches)
    blocks = sum(len(match["blocks"]) for match in matches)
    at_a_time = min(workers, submissions)
    return Run(
        submissions, wall_s, games_s, games_s / blocks, wall_s * at_a_time - games_s, peak_mib
    )


def child(folder: Path, workers: int) -> int:
    """In a process of its own: the grader, and at its end how much memory it held at most."""
    from croupier_server.cli import main

    paths = (folder / "in", "--rubric", folder / "rubric.toml", "--out", folder / "out")
    sys.argv[1:] = ["grade", *map(str, paths), "--isolation", "same-user"]
    sys.argv += ["--workers", str(workers)]
    try:
        main()
    except SystemExit as ended:
        print(f"\n{peak_of_this_process():.3f}")
        return int(ended.code or 0)
    return 0


def peak_of_this_process() -> float:
    """The most memory that this process held, in MiB; 1 where the system does not tell."""
    if sys.platform == "win32":
        return 1.0
    import resource

    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    sys.exit(child(Path(sys.argv[1]), int(sys.argv[2])))
