"""docs/grading.md says what there is: its examples are taken, and nothing is missing."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from croupier_server.grading.filling import BOUNDS
from croupier_server.grading.isolation.choice import LEVELS
from croupier_server.grading.limits import BUILD_LIMITS, MIB, PLAY_LIMITS
from croupier_server.grading.manifest import read_manifest
from croupier_server.grading.rubric_line_reading import COMMON, OWN
from croupier_server.grading.rubric_model import CAUSES
from croupier_server.grading.rubric_reading import HIDDEN, LIMITS, PARTS, load_rubric
from croupier_server.grading.rubric_units import size_text, time_text

ROOT = Path(__file__).resolve().parent.parent.parent
DOC = ROOT / "docs" / "grading.md"
TEXT = DOC.read_text(encoding="utf-8")


def blocks(language: str) -> Iterator[str]:
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE):
        yield found[1]


def commands() -> list[str]:
    lines = "".join(blocks("sh")).replace("\\\n", "").splitlines()
    fenced = [line for line in lines if line.startswith("croupier ")]
    return sorted({*fenced, *re.findall(r"`(croupier grade [^`]+)`", TEXT)})


@pytest.mark.parametrize("command", commands())
def test_command_exists_with_its_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [*shlex.split(command), "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("croupier_server.cli").main()
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    assert "Usage" in said.out


def test_examples_are_taken(tmp_path: Path) -> None:
    player, rubric = blocks("toml")
    (tmp_path / "player.toml").write_text(player, encoding="utf-8")
    assert read_manifest(tmp_path).name == "Pingu"
    (tmp_path / "rubric.toml").write_text(rubric, encoding="utf-8")
    assert sum(line.points for line in load_rubric(tmp_path / "rubric.toml").lines) == 100


def test_every_setting_of_a_rubric_is_named() -> None:
    tables = {"game", "clocks", "limits", "build", "robin", "deductions", "line", "cap"}
    for name in PARTS:
        assert (f"[{name}]" if name in tables else f"`{name}`") in TEXT, name
    own = [name for names in OWN.values() for name in names]
    for name in (*COMMON, *OWN, *own, *LIMITS):
        assert f"`{name}`" in TEXT, name
    for word in (*CAUSES, *HIDDEN):
        assert f'`"{word}"`' in TEXT, word


def test_defaults_of_limits_are_those_of_the_table() -> None:
    rows = dict(
        re.findall(r"^\| `(\w+)` \| (.*? \| .*?) \|", TEXT.partition("### Limits")[2], re.M)
    )
    for name, (field, _) in LIMITS.items():
        told: list[str] = []
        for limits in (PLAY_LIMITS, BUILD_LIMITS):
            value = getattr(limits, field)
            is_time, is_size = field.endswith("_s"), field.endswith("_bytes") or field == "memory"
            text = time_text(value) if is_time else size_text(value) if is_size else str(value)
            told.append(f'`"{text}"`' if is_time or is_size else text)
        assert rows[name] == " | ".join(told), name


def test_levels_and_bounds_are_those_that_there_are() -> None:
    isolation = TEXT.partition("## Isolation")[2].partition("### ")[0]
    for level in LEVELS:
        assert f"*{level}*" in isolation, level
    assert f"{BOUNDS.total // MIB} MiB in {BOUNDS.entries:,} files" in TEXT
    assert f"{BOUNDS.one // MIB} MiB in one, and {BOUNDS.depth} folders" in TEXT
    assert f"{BOUNDS.links}\nlinks" in TEXT


def test_links_lead_somewhere() -> None:
    anchors = {
        re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    }
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", TEXT):
        file, _, anchor = link.partition("#")
        assert (DOC.parent / file).exists() if file else anchor in anchors, link
