"""``python -m benchmarks``: measure, and print ratios taken in the same run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NoReturn

from benchmarks import (
    cluster,
    cluster_idle,
    cluster_sim,
    crowd,
    grading,
    journal,
    pages,
    rules,
    standings,
    startup,
    turns,
    viewers,
)
from benchmarks.processes import Failed
from benchmarks.report import Part
from benchmarks.sizes import SIZES, Size

PARTS: Final[Mapping[str, Callable[[Size], Part]]] = {
    "rules": rules.measure,
    "turns": turns.measure,
    "crowd": crowd.measure,
    "journal": journal.measure,
    "startup": startup.measure,
    "standings": standings.measure,
    "viewers": viewers.measure,
    "pages": pages.measure,
    "grading": grading.measure,
    "cluster": cluster.measure,
    "cluster-idle": cluster_idle.measure,
    "cluster-sim": cluster_sim.measure,
}
"""By name, what can be measured."""

ASKED_FOR: Final = frozenset({"cluster", "cluster-idle", "cluster-sim"})
"""What is measured only if it is named, since it needs PostgreSQL and minutes."""

USAGE: Final = 2
INTERRUPTED: Final = 130


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"benchmarks: {message} (--help tells more)\n")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = _Parser(
        prog="benchmarks",
        description="Measure Croupier against minimal programs that do the same, in the same run.",
        epilog="A missed budget is told and is no failure: machines differ.",
    )
    found.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"what to measure: {', '.join(PARTS)}; all but the cluster's if none is named",
    )
    found.add_argument("--quick", action="store_true", help="a first look, in some seconds")
    found.add_argument("--json", metavar="FILE", help="write all figures there too")
    found.add_argument("--size", choices=SIZES, default="full", help=argparse.SUPPRESS)
    return found


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for; gives the exit code."""
    commands = parser()
    options = commands.parse_args(arguments)
    for name in options.parts:
        if name not in PARTS:
            commands.error(f"no part {name!r}; there are {', '.join(PARTS)}")
    if options.json is not None:
        try:
            Path(options.json).touch()  # now, and not when all has been measured
        except OSError as problem:
            commands.error(f"{options.json}: {problem.strerror}")
    named = options.parts or PARTS.keys() - ASKED_FOR
    chosen = [name for name in PARTS if name in named]
    try:
        found = measure(chosen, SIZES["quick" if options.quick else options.size])
    except Failed as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    if options.json is not None:
        Path(options.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


def measure(names: Sequence[str], size: Size) -> dict[str, Any]:
    """Measure and print some parts; gives all figures."""
    described = machine()
    print("\n".join(f"{name}: {value}" for name, value in described.items()))
    parts: dict[str, Any] = {}
    for name in names:
        started = time.perf_counter()
        part = PARTS[name](size)
        print()
        print("\n".join(part.lines()), flush=True)
        print(f"({time.perf_counter() - started:.0f} s)")
        parts[name] = part.to_json()
    return {"machine": described, "parts": parts}


def machine() -> dict[str, str]:
    """What this is measured on."""
    described = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(
            f"{name} {found}"
            for name in ("croupier-server", "websockets", "uvloop", "pydantic")
            if (found := installed(name)) is not None
        ),
    }
    if sys.platform != "win32":
        described["load average"] = f"{os.getloadavg()[0]:.1f} at the start"
    return described


def installed(package: str) -> str | None:
    """The version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
