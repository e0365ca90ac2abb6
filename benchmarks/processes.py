"""Child processes of a benchmark: started with a job, pinned to one core, bounded in time.

A child is a module that is run with its job, a JSON object, as its only argument. It says what it
has to say as lines of JSON on stdout. Only processes that were started here are ever ended here.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

__all__ = [
    "Failed",
    "be_patient",
    "own_job",
    "pinned_core",
    "raise_open_files",
    "resident_kib",
    "run_alone",
    "run_pair",
    "say",
    "tell",
    "told",
]

ROOT = Path(__file__).resolve().parent.parent

Job = Mapping[str, Any]


class Failed(Exception):
    """A child did not do its job; the message says which and how."""


def run_alone(
    what: str, arguments: Sequence[str], *, given: str | None = None, limit_s: float
) -> str:
    """Run Python with some arguments to its end; gives what it wrote.

    Args:
        what: that is, in words.
        given: its standard input.

    Raises:
        Failed: it took longer than `limit_s`, or did not end well.
    """
    try:
        ended = subprocess.run(
            [sys.executable, *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=limit_s,
            cwd=ROOT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{what} took longer than {limit_s:g} s") from None
    if ended.returncode:
        raise Failed(f"{what} ended with exit code {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout


# -- in the child


def own_job() -> dict[str, Any]:
    """The job that this process was started with; pins it to the job's core."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    if job["core"] is not None and sys.platform == "linux":
        os.sched_setaffinity(0, {job["core"]})
    return job


def be_patient() -> None:
    """Have the system interrupt no other process for this one's sake, where it can be told so.

    A load that shares the server's core would else stop it at each message that it sends, as no
    player on another machine does; and the more so, the more of the work is the server's.
    """
    if sys.platform == "linux":
        with suppress(OSError):  # some containers forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def told() -> dict[str, Any]:
    """What the parent says."""
    message: dict[str, Any] = json.loads(sys.stdin.readline())
    return message


def tell(message: Mapping[str, Any]) -> None:
    """Say something to the parent."""
    print(json.dumps(message), flush=True)


def raise_open_files() -> None:
    """Let this process have as many connections as the system allows."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def resident_kib() -> int:
    """How much memory this process holds; 0 where the system does not tell."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


# -- in the parent


def pinned_core() -> int | None:
    """The core for both ends of a connection; None where processes can't be pinned.

    The last one that we may use: interrupts mostly go to the first.
    """
    return max(os.sched_getaffinity(0)) if sys.platform == "linux" else None


async def run_pair(
    server: str, server_job: Job, load_job: Job, seconds: float, load: str = "benchmarks.load"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a server and its load, both pinned to one core, and give what each reports at its end.

    The server first tells its port, which the load then reads.

    Raises:
        Failed: one of them ended without a report, or both took longer than `seconds`.
    """
    core = {"core": pinned_core()}
    try:
        async with (
            asyncio.timeout(seconds),
            child(server, {**server_job, **core}) as serving,
            child(load, {**load_job, **core}) as loading,
        ):
            assert loading.stdin is not None
            loading.stdin.write(json.dumps(await heard(serving, server)).encode() + b"\n")
            loading.stdin.close()
            return await heard(serving, server), await heard(loading, load)
    except TimeoutError:
        raise Failed(f"{server} and its load took longer than {seconds:g} s") from None


def say(process: asyncio.subprocess.Process, message: Job) -> None:
    """Say something to a child."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")


@asynccontextmanager
async def child(module: str, job: Job) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A process that runs a module; at the end it is gone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        json.dumps(job),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        yield process
        await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def heard(process: asyncio.subprocess.Process, name: str) -> dict[str, Any]:
    """The next thing that a child says."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise Failed(f"{name} ended with exit code {await process.wait()} and no report")
    return cast("dict[str, Any]", json.loads(line))
