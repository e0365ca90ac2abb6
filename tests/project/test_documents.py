"""Every command that the documents and the images give exists, with the options that they use."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MODULES = {"croupier": "croupier_server.cli", "penguin": "croupier_client.cli"}
INLINE = re.compile(r"`((?:croupier|penguin) [^`]+)`")


def document_commands() -> set[str]:
    """Give the commands that the documents have in their text."""
    names = ("README.md", "CONTRIBUTING.md", "docs/course.md", "docs/deploy.md")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    return {command for text in texts for command in INLINE.findall(text)}


def image_commands() -> set[str]:
    """Give the commands that the images run by default."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    pairs = re.findall(r"^ENTRYPOINT (\[.*\])\nCMD (\[.*\])$", text, re.MULTILINE)
    return {" ".join([*json.loads(entry), *json.loads(rest)]) for entry, rest in pairs}


def all_commands() -> list[str]:
    return sorted(document_commands() | image_commands())


def test_commands_are_found_in_each_place() -> None:
    assert "penguin new my_player" in document_commands()
    assert len(image_commands()) == 2


@pytest.mark.parametrize("command", all_commands())
def test_command_exists_with_its_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # With --help, the options are checked and then nothing is done.
    own = command.partition(" -- ")[0]  # what follows is another program's
    monkeypatch.setattr(sys, "argv", [*own.split(), "--help"])
    module = importlib.import_module(MODULES[command.split(maxsplit=1)[0]])
    with pytest.raises(SystemExit) as ended:
        module.main()
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    assert "Usage" in said.out


def test_readme_names_no_missing_file() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []
