"""The operator's container command, with a script in place of an engine: none runs here."""

import subprocess
import sys
from pathlib import Path

import pytest

from croupier_server.grading.isolation.choice import choose
from croupier_server.grading.limits import Limits
from support.needs import require

ENGINE = """#!/bin/sh
# run OPTIONS IMAGE PROGRAM...; ps; rm: notes what it is told
echo "$@" >>"$(dirname "$0")/told"
case $1 in
ps) [ -e "$(dirname "$0")/there" ] && echo 4711; exit 0 ;;
rm) exit 0 ;;
esac
while [ "$1" != image ]; do shift; done
shift
trap 'echo ended by SIGTERM; exit 9' TERM
"$@" &
wait
"""
TEMPLATE = [
    *("run", "--rm", "-i", "--network", "none", "--memory", "{memory}"),
    *("--pids-limit", "{processes}", "--name", "{name}", "-v", "{folder}:/player:{mode}", "image"),
]


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    require("posix", sys.platform != "win32", "Windows")
    engine = tmp_path / "engine" / "engine"
    engine.parent.mkdir()
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    return engine


def test_the_command_is_filled_in_and_removed_by_name(engine: Path, tmp_path: Path) -> None:
    (engine.parent / "there").touch()
    level = choose(container=[str(engine), *TEMPLATE])
    assert level.name == "container"
    assert "up to the container command" in level.not_contained[0]
    cell = level.cell(tmp_path, Limits(), number=5)
    assert cell.folder == "/player"
    command = cell.command(["echo", "hello", "{memory}"])
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout == "hello {memory}\n"
    assert cell.close() == 1
    first, second, listed, removed = (engine.parent / "told").read_text().splitlines()
    assert f"--memory {1 << 30} --pids-limit 64 --name croupier-5-" in first
    assert first.endswith(f"-v {tmp_path}:/player:ro image echo hello {{memory}}")
    names = [line.split("--name ")[1].split()[0] for line in (first, second)]
    assert names[0] != names[1]  # both may run at a time
    assert listed.startswith("ps --all --quiet --filter name=")
    assert all(listed.partition("name=")[2] in name for name in names)
    assert removed == "rm --force 4711"


def test_a_client_may_pass_sigterm_on(engine: Path, tmp_path: Path) -> None:
    cell = choose("container", container=[str(engine), *TEMPLATE]).cell(
        tmp_path, Limits(), number=0, writable=True
    )
    with subprocess.Popen(
        cell.command(["sh", "-c", "echo here; exec sleep 30"]), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.terminate()
        assert process.stdout.read() == b"ended by SIGTERM\n"
        assert process.wait(5) == 9
    assert ":/player:rw image" in (engine.parent / "told").read_text()
    assert cell.close() == 0
