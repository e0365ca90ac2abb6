"""Programs that the kit runs: their standard streams, and words on what became of them."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from croupier_client.errors import ProgramError
from croupier_client.program import LogFile, PassedOn, Program, Sink
from croupier_common.lines import BadLine, Line
from support.needs import require
from support.stdio import QUICK, command, processes, processes_left


@pytest.fixture(autouse=True)
def _noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("posix", os.name == "posix", "processes are looked for by POSIX means")
    monkeypatch.setenv("PIDS", str(tmp_path / "all.pids"))


@asynccontextmanager
async def running(arguments: Sequence[str], stderr: Sink | None = None) -> AsyncGenerator[Program]:
    program = await Program.start(arguments, stderr or Sink())
    try:
        yield program
    finally:
        await program.end(QUICK)


def python(script: str) -> Sequence[str]:
    return [sys.executable, "-I", "-S", "-c", script]


async def all_lines(program: Program) -> list[Line | BadLine]:
    return [line async for line in program.lines()]


async def test_program_gets_lines_and_gives_lines() -> None:
    script = "import sys\nfor line in sys.stdin: print(repr(line), flush=True)"
    async with running(python(script)) as program:
        assert program.send('{"a":\n "\u2028"}')
        lines = program.lines()
        assert await anext(lines) == Line(repr('{"a":  "\\u2028"}\n'))
        await lines.aclose()


async def test_program_has_our_environment_without_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PENGUIN_TOKEN", "secret")
    monkeypatch.setenv("JAVA_HOME", "here")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    script = (
        "import os; print([os.environ.get(name) for name in"
        " ('PENGUIN_TOKEN', 'JAVA_HOME', 'PYTHONIOENCODING', 'PYTHONUNBUFFERED')])"
    )
    async with running(python(script)) as program:
        assert await all_lines(program) == [Line("[None, 'here', 'latin-1', '1']")]


async def test_last_words_are_kept_with_the_status() -> None:
    async with running(python("import sys; sys.stderr.write('one\\ntwo\\n'); sys.exit(4)")) as gone:
        assert await all_lines(gone) == []
        assert await gone.obituary() == "ended with exit status 4"
        assert gone.left.is_set()
        assert gone.stderr.last_lines(1) == ["two"]


async def test_program_that_does_not_read_is_told_from_one_that_does(tmp_path: Path) -> None:
    async with running(command("deaf", "start")) as program:
        sent = 0
        while program.send("x" * 100_000):
            sent += 1
        assert 10 <= sent <= 20
    assert processes_left(tmp_path) == []


async def test_sending_to_a_program_that_has_ended_is_no_error() -> None:
    async with running(python("pass")) as program:
        await all_lines(program)
        await program.obituary()
        assert program.send("x")
        assert program.send("y")


@pytest.mark.parametrize("switches", [("stubborn",), ("deaf", "start"), ("forks", "start")])
async def test_nothing_of_a_program_outlives_its_end(
    switches: Sequence[str], tmp_path: Path
) -> None:
    async with running(command(*switches)) as program:
        program.send('{"id": "hello", "method": "hello", "params": {}}')
        if "deaf" not in switches:  # then it has started all that it starts
            assert isinstance(await anext(program.lines()), Line)
        while not processes(tmp_path):  # noqa: ASYNC110 - another process tells it
            await asyncio.sleep(0.01)
    assert processes_left(tmp_path) == []


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("no-such-program", "can't start no-such-program: no such program$"),
        ("./none", "can't start ./none: no such file"),
        ("here.sh", r"no such program \(for one in this folder, write \./\)"),
        ("./here.sh", r"chmod \+x"),
    ],
)
async def test_program_that_cannot_be_started_is_one_clear_line(
    program: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    with pytest.raises(ProgramError, match=told):
        await Program.start([program], Sink())


def test_log_file_has_head_and_tail(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log")
    log.feed(b"begin\n")
    for _ in range(100):
        log.feed(b"noise" * 10_000)
    log.feed(b"\nend\n")
    log.close()
    written = (tmp_path / "log").read_bytes()
    assert written.startswith(b"begin\nnoise")
    assert written.endswith(b"\nend\n")
    assert len(written) < (1 << 20) + 100
    assert log.last_lines(1) == ["end"]


def test_log_file_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="No such file"):
        LogFile(tmp_path / "none" / "log")


def test_what_is_passed_on_never_waits_for_a_reader() -> None:
    reads, writes = os.pipe()
    sink = PassedOn(writes)
    began = time.monotonic()
    for _ in range(100):
        sink.feed(b"x" * 100_000)
    sink.feed(b"\nend\n")
    assert time.monotonic() - began < 1
    assert sink.last_lines(1) == ["end"]
    os.close(reads)
    sink.close()
    os.close(writes)


def test_what_is_passed_on_to_a_slow_reader_ends_with_the_last_words() -> None:
    reads, writes = os.pipe()
    sink = PassedOn(writes)
    for _ in range(100):
        sink.feed(b"x" * 99_999 + b"\n")
    sink.feed(b"the end\n")
    arrived: list[bytes] = []

    def read() -> None:
        with os.fdopen(reads, "rb") as pipe:
            arrived.append(pipe.read())

    reader = threading.Thread(target=read)
    reader.start()
    sink.close()
    os.close(writes)
    reader.join()
    assert arrived[0].endswith(b"x\nthe end\n")
    left_out = re.findall(rb"\n\[(\d+) bytes left out\]\n", arrived[0])
    notices = sum(len(b"\n[%s bytes left out]\n" % number) for number in left_out)
    assert len(arrived[0]) - notices + sum(map(int, left_out)) == 100 * 100_000 + 8
    assert left_out


def test_what_is_passed_on_arrives() -> None:
    reads, writes = os.pipe()
    sink = PassedOn(writes)
    sink.feed(b"one\n")
    sink.feed(b"two\n")
    sink.close()
    os.close(writes)
    with os.fdopen(reads, "rb") as arrived:
        assert arrived.read() == b"one\ntwo\n"
