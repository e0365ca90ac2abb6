"""`croupier new`: all of its lines are valid, those that are commented out too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from croupier_server.commands.new import new
from croupier_server.commands.template import template
from croupier_server.errors import UserError
from croupier_server.settings import load_settings
from croupier_server.tournament.formats import FORMATS
from croupier_server.tournament.manager import format_of

EXAMPLE = re.compile(r"^# ([a-z_]+ = .*)$", re.MULTILINE)


@pytest.mark.parametrize("format_name", FORMATS)
def test_new_file_is_valid_and_can_be_played(format_name: str, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(template("friday", format_name), encoding="utf-8")
    settings = load_settings(file)
    assert settings.tournament.name == "friday"
    assert settings.tournament.format == format_name
    format_of(settings, 1)


@pytest.mark.parametrize("format_name", FORMATS)
def test_each_commented_setting_can_be_set(format_name: str, tmp_path: Path) -> None:
    text = template("friday", format_name)
    plain = load_settings(_file(tmp_path, text))
    examples = EXAMPLE.findall(text)
    assert len(examples) >= 12
    for example in examples:
        settings = load_settings(_file(tmp_path, text.replace(f"# {example}", example)))
        assert settings != plain, example
        format_of(settings, 1)


def _file(folder: Path, text: str) -> Path:
    file = folder / "t.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_new_never_writes_over_a_file_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"mine\.toml: it is there already; --force"):
        new.main([str(file)], standalone_mode=False)
    assert file.read_text(encoding="utf-8") == "mine"
    new.main([str(file), "--force"], standalone_mode=False)
    assert load_settings(file).tournament.name == "mine"


def test_new_refuses_a_name_that_no_tournament_can_have(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    with pytest.raises(UserError, match=r"^--name: tournament\.name"):
        new.main([str(file), "--name", 'a"\nb'], standalone_mode=False)
    assert not file.exists()
