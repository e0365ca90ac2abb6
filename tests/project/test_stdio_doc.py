"""docs/stdio.md says what the programs do."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from croupier_common.hello import OPTIONS, hello_from_text, options_from_hello
from croupier_common.lines import MAX_LINE
from croupier_common.messages import Reply, parse_from_player
from croupier_common.programs import PATIENCE, CappedLog
from croupier_server.gateway.stdio import Program
from croupier_server.settings import Clocks, Limits, load_settings
from support.stdio import play
from support.wire import quick_settings

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "stdio.md").read_text(encoding="utf-8")
MODULES = {"croupier": "croupier_server.cli", "penguin": "croupier_client.cli"}


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_greeting_is_what_it_is() -> None:
    (asked,) = blocks("json server")
    hello = hello_from_text(asked)
    assert hello is not None
    assert json.loads(asked) == json.loads(hello.text())
    (answered,) = blocks("json player")
    reply = parse_from_player(answered)
    assert isinstance(reply, Reply)
    assert reply.id == hello.id
    assert options_from_hello(reply.result, "Pingu").legal_actions


def test_options_of_the_greeting_are_named() -> None:
    (told,) = re.findall(r"the program's to choose: (.*?)\.", TEXT)
    assert tuple(re.findall(r"`(\w+)`", told)) == OPTIONS


@pytest.mark.parametrize(
    "told",
    [
        f"may have {MAX_LINE:,} bytes",
        f"a line of more than {MAX_LINE:,} bytes",
        f"runs {PATIENCE.close_s:g} seconds later gets SIGTERM, and {PATIENCE.term_s:g} second",
        f"ended {PATIENCE.close_s + PATIENCE.term_s:g} seconds after",
        f"this answer: {Clocks().join_ms // 1000} seconds",
        f"until {Limits().max_unread >> 20} MiB waits",
        f"more than {Limits().max_surplus} lines",
    ],
)
def test_numbers_are_those_of_the_code(told: str) -> None:
    assert told in TEXT


def test_size_of_a_log_is_that_of_the_code() -> None:
    (head, tail) = re.findall(r"the first (\d+) KiB and the last (\d+) KiB", TEXT)[0]
    log = CappedLog()
    assert len(log.feed(b"x" * (1 << 21))) == int(head) << 10
    assert len(log.end().rpartition(b"\n")[2]) == int(tail) << 10


def test_links_go_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


COMMANDS = sorted(
    line
    for line in {*"".join(blocks("sh")).splitlines(), *re.findall(r"`([^`\n]+)`", TEXT)}
    if line.split()[0] in MODULES and "..." not in line and len(line.split()) > 2
)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_exists_with_its_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *rest = shlex.split(command.partition(" -- ")[0].partition(" < ")[0])
    monkeypatch.setattr(sys, "argv", [program, *rest, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(MODULES[program]).main()
    assert ended.value.code == 0, capsys.readouterr().err


def test_settings_are_accepted(tmp_path: Path) -> None:
    (text, table) = blocks("toml")
    told: list[Program] = []
    for block in (text, table):
        (tmp_path / "croupier.toml").write_text(block, encoding="utf-8")
        told += load_settings(tmp_path / "croupier.toml").lobby.programs
    assert told == [
        Program(name="Pingu", command=("python3", "my_player.py")),
        Program(
            name="Pingu",
            command=("python3", "my_player.py"),
            cwd=Path("players/pingu"),
            age=7,
            env={"PLAYER_DEPTH": "3"},
        ),
    ]


async def test_programs_play(tmp_path: Path) -> None:
    """The one of the quick start, and the player of the kit."""
    plain, kit = blocks("python")
    (tmp_path / "plain.py").write_text(plain, encoding="utf-8")
    (tmp_path / "kit.py").write_text(kit, encoding="utf-8")
    programs = [
        Program(name=name, command=[sys.executable, f"{name}.py"], cwd=tmp_path)
        for name in ("plain", "kit")
    ]
    clocks = {"join_ms": 10_000, "place_ms": 2_000, "move_ms": 2_000}
    outcome = await play(programs, quick_settings(clocks=clocks))
    assert not outcome.failed
    assert not outcome.result.faults
