"""Building a submission: commands in order, in a cell, with an end."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from croupier_server.grading.building import build
from croupier_server.grading.evidence import Built
from croupier_server.grading.isolation.choice import choose
from croupier_server.grading.limits import MIB, Limits
from croupier_server.grading.stages_process import run
from support.needs import require

LIMITS = Limits(wall_s=20.0, cpu_s=20.0, output_bytes=4_000, memory=256 * MIB)


async def built(folder: Path, *commands: tuple[str, ...], limits: Limits = LIMITS) -> Built:
    cell = choose("same-user").cell(folder, limits, number=0, writable=True)
    try:
        return await build(commands, cell, limits)
    finally:
        await asyncio.to_thread(cell.close)


def python(code: str) -> tuple[str, ...]:
    return ("python3", "-I", "-S", "-c", code)


async def test_build_runs_its_commands_in_order_in_the_submissions_folder(tmp_path: Path) -> None:
    write, read = "open('a', 'w').write('x')", "print(open('a').read() + 'y')"
    found = await built(tmp_path, python(write), python(read))
    assert (found.status, found.detail) == ("ok", "")
    assert (tmp_path / "a").read_text() == "x"
    assert found.output.splitlines()[-1] == "xy"
    assert found.output.startswith("$ python3 -I -S -c ")
    assert found.took_s > 0


async def test_build_without_commands_is_none(tmp_path: Path) -> None:
    assert await built(tmp_path) == Built("none")


async def test_build_stops_at_the_first_command_that_fails(tmp_path: Path) -> None:
    fails = python("import sys; print('line 3: no semicolon', file=sys.stderr); sys.exit(4)")
    found = await built(tmp_path, fails, python("open('b', 'w')"))
    assert found.status == "failed"
    assert "ended with exit status 4" in found.detail
    assert found.detail.endswith("the last line of its output: line 3: no semicolon")
    assert "line 3: no semicolon" in found.output
    assert not (tmp_path / "b").exists()


async def test_build_that_fails_is_told_by_its_first_error(tmp_path: Path) -> None:
    noise = "a.c:3:1: error: expected a semicolon\\n   3 | }\\n     | ^~~~"
    found = await built(tmp_path, python(f"import sys; sys.exit('{noise}')"))
    assert found.detail.endswith("its first error: a.c:3:1: error: expected a semicolon")


async def test_build_with_a_program_that_is_not_there_fails(tmp_path: Path) -> None:
    found = await built(tmp_path, ("no-such-compiler", "x"))
    assert found.status == "failed"
    assert "no-such-compiler" in found.detail


async def test_build_that_writes_without_end_keeps_the_end_of_it(tmp_path: Path) -> None:
    found = await built(tmp_path, python("print('noise\\n' * 500_000); print('the end')"))
    assert found.status == "ok"
    assert len(found.output) <= LIMITS.output_bytes
    assert found.output.rstrip().endswith("the end")


async def test_build_that_does_not_end_is_ended(tmp_path: Path) -> None:
    limits = Limits(wall_s=0.5, cpu_s=20.0)
    found = await built(tmp_path, python("while True: pass"), limits=limits)
    assert found.status == "failed"
    assert "longer" in found.detail or "time" in found.detail
    assert found.took_s < 5


async def test_build_that_uses_too_much_memory_says_so(tmp_path: Path) -> None:
    require("linux", sys.platform.startswith("linux"), "memory is counted on Linux only")
    hog = "import time; x = b'x' * (1 << 29); time.sleep(20)"
    found = await built(tmp_path, python(hog))
    assert found.status == "failed"
    assert "256 MiB of memory" in found.detail


async def test_build_reads_nothing_and_has_none_of_our_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROUPIER_SECRET", "token")
    code = "import os, sys; print(repr(sys.stdin.read()), 'CROUPIER_SECRET' in os.environ)"
    found = await built(tmp_path, python(code))
    assert found.output.splitlines()[-1] == "'' False"


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.01)


async def test_process_that_is_cancelled_is_ended_first(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    command = [sys.executable, "-I", "-S", "-c", code]
    running = asyncio.create_task(run(command, limit_s=60, output_bytes=100))
    await until(lambda: pid.exists() and bool(pid.read_text()))
    began = time.monotonic()
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()
    assert time.monotonic() - began < 3
    assert not runs(int(pid.read_text()))
