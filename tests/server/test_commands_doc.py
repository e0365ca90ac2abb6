"""The page on tournaments says what is so."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from croupier_server import cli
from croupier_server.commands import orders
from croupier_server.tournament.formats import FORMATS, FormatOptions, make_format
from croupier_server.tournament.tie_breaks import TIE_BREAKS

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "tournaments.md").read_text(encoding="utf-8")


def commands() -> set[str]:
    inline = re.findall(r"`(croupier [^`]+)`", PAGE)
    listed = re.findall(r"^(croupier [^#>\n]+)", PAGE, re.MULTILINE)
    return {command.strip() for command in [*inline, *listed]}


@pytest.mark.parametrize("format_name", FORMATS)
def test_tie_breaks_stand_in_their_order(format_name: str) -> None:
    by = make_format(format_name, FormatOptions()).tie_breaks
    assert f"| `{format_name}` | {', '.join(by)} |" in PAGE
    assert all(f"`{name}`:" in PAGE for name in by if name in TIE_BREAKS)


@pytest.mark.parametrize("command", sorted(commands()))
def test_command_exists_with_its_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # with --help, the options are checked and then nothing is done
    monkeypatch.setattr(sys, "argv", [*command.split(), "--help"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0, capsys.readouterr().err


def test_every_order_is_told_about() -> None:
    assert len(orders.__all__) == 8
    assert all(f"| `croupier {order}" in PAGE for order in orders.__all__)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", PAGE)
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
