"""The process between us and a program of a submission: it sets limits, watches, ends, reports.

Started as ``python -I -S warden.py SPEC`` in place of the program, with the program's pipes,
which it hands on and lets go of, so that a message costs nothing more. When the program has ended,
has crossed a limit, or we are told to end (SIGTERM), all that it has started is killed, also what
has moved into sessions of its own: the warden is the parent of whatever lost its own parent. It
ends with the program's exit status, 128 and more for a signal. Standard library only.
"""

# ruff: noqa: PTH100, PTH123 - no
# pathlib, without which a warden starts quicker

from __future__ import annotations

import marshal
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from croupier_server.grading.isolation.spec import Spec


def main() -> None:
    """Run what the file says that is named by the only argument."""
    sys.path.append(os.path.abspath(f"{__file__}/../../../.."))
    with open(sys.argv[1], "rb") as file:
        spec: Spec = marshal.load(file)  # noqa: S302 - ours; JSON takes its time
    os._exit(run_plainly(spec) if os.name == "nt" else _run(spec))


def _run(spec: Spec) -> int:
    from croupier_server.grading.isolation.ward import Ward

    return Ward(spec).run()


def run_plainly(spec: Spec) -> int:
    """Run the program where there are no POSIX processes: only the wall time is watched."""
    import subprocess

    from croupier_server.grading.isolation.ward import write_report

    began = time.monotonic()
    exceeded: str | None = None
    process = subprocess.Popen(spec["argv"], cwd=spec["cwd"] or None, env=spec["env"])
    try:
        status = process.wait(spec["wall_s"])
    except subprocess.TimeoutExpired:
        exceeded = "wall"
        tree = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        subprocess.run(tree, capture_output=True, check=False)
        status = process.wait()
    found = {"status": status, "exceeded": exceeded, "wall_s": time.monotonic() - began}
    write_report(spec["reports"], {**found, "number": spec["number"]})
    return status


if __name__ == "__main__":
    main()
