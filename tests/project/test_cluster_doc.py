"""The page about clusters: its commands, settings and log lines are what there is."""

from __future__ import annotations

import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest

from croupier_server.cluster.cli import CRASHED, CUT_OFF, ROLES
from croupier_server.cluster.scope import check_scope
from croupier_server.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
SHELL = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = sorted(set(re.findall(r"^croupier .+$", SHELL, re.MULTILINE)))
VARIABLES = dict(re.findall(r"^export (\w+)=(.+)$", SHELL, re.MULTILINE))
SECTIONS = "|".join(Settings.model_fields)


def section(title: str) -> str:
    """What stands under a heading."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@cache
def source() -> str:
    """All of the server, in one text."""
    files = (ROOT / "server" / "src").rglob("*.py")
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def parsed(command: str) -> click.Context:
    """A command of ours as it is understood, with its options checked, and not run."""
    group = import_module("croupier_server.cli")._croupier
    assert isinstance(group, click.Group)
    _, name, *options = shlex.split(command)
    found = group.get_command(click.Context(group), name)
    assert found is not None, f"no command {name}"
    return found.make_context(name, options)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_understood_with_its_values(command: str) -> None:
    parsed(command)


def test_page_goes_from_one_machine_to_each_role() -> None:
    names = {command.split()[1] for command in COMMANDS}
    assert names == {"serve", "web", *ROLES}
    assert any("--workers" in command for command in COMMANDS)


def test_variables_are_settings_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.cluster.is_named
    assert settings.storage.url == VARIABLES["CROUPIER_STORAGE__URL"]
    check_scope(settings)


@pytest.mark.parametrize("name", sorted(set(re.findall(rf"`((?:{SECTIONS})\.\w+)`", PAGE))))
def test_setting_exists(name: str) -> None:
    part, _, setting = name.partition(".")
    assert hasattr(getattr(Settings(), part), setting)


def test_exit_codes_are_those_of_the_roles() -> None:
    told = re.findall(r"^\| (\d+) \|", section("Many machines"), re.MULTILINE)
    assert told == ["0", "1", "2", str(CRASHED), str(CUT_OFF)]


def test_each_part_has_a_line_on_its_death() -> None:
    told = section("When a part dies").lower()
    for part in (*ROLES, "pages", "nats", "postgresql"):
        assert re.search(rf"^\| (?:an?|the)?[\w ]*\b{part}\b", told, re.MULTILINE), part


def log_lines() -> list[str]:
    rows = re.findall(r"^\| (`.+?) \| \w", section("Troubleshooting"), re.MULTILINE)
    return [line for row in rows for line in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("line", log_lines())
def test_line_to_look_for_is_in_the_program(line: str) -> None:
    assert f'"{line}' in source()


def test_links_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings}
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        file, _, anchor = link.partition("#")
        if link.startswith("https:"):
            continue
        assert not file or (ROOT / "docs" / file).exists(), link
        assert file or anchor in anchors, link


@pytest.mark.parametrize("path", ["README.md", "docs/operations.md", "docs/deploy.md"])
def test_others_lead_here(path: str) -> None:
    assert "cluster.md)" in (ROOT / path).read_text(encoding="utf-8")
