"""Settings: four sources, one order, and one clear line for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from croupier_common.rules import CLASSIC
from croupier_server.errors import UserError
from croupier_server.settings import load_settings


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "croupier.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_source_wins_over_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, "[lobby]\nmin_players = 3\nmax_players = 9\nperiods = 5\n")
    monkeypatch.setenv("CROUPIER_LOBBY__MAX_PLAYERS", "8")
    monkeypatch.setenv("CROUPIER_LOBBY__PERIODS", "6")
    settings = load_settings(path, {"lobby": {"periods": 7, "min_players": None}})
    assert settings.lobby.min_players == 3
    assert settings.lobby.max_players == 8
    assert settings.lobby.periods == 7
    assert settings.lobby.wait_ms == load_settings().lobby.wait_ms


def test_variables_of_other_programs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_REQUIRE", "all")
    monkeypatch.setenv("CROUPIER_VENV", "elsewhere")
    assert load_settings().server.host == "127.0.0.1"


def test_variables_can_be_text_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_GAME__BOARD", "6x4,holes=1")
    monkeypatch.setenv("CROUPIER_GAME__RULES", '"classic"')
    monkeypatch.setenv("CROUPIER_LOBBY__PROGRAMS", '["Pingu=./pingu"]')
    settings = load_settings()
    assert settings.game.board.rows == 6
    assert settings.game.rules == CLASSIC
    assert settings.lobby.programs[0].name == "Pingu"


def test_environment_has_no_say_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_STORAGE__URL", "postgresql://somewhere/precious")
    assert load_settings(reads_environment=False).storage.url is None


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LOBBI__PERIODS", "3", "no setting lobbi.periods; there are server, lobby"),
        ("LOBBY", "3", "lobby is a section, and not 3"),
        ("SERVER", "{", "server is a section, and not '{'"),
        ("GAME__RULES", "chess", "game.rules: no preset 'chess'"),
        ("GAME__BOARD", "chess", "game.board: board 'chess': it is 'classic' or like '5x5'"),
        ("LOBBY__PROGRAMS", "a=b", "lobby.programs: it is an array"),
        ("SERVER__HOST", "", "server.host"),
    ],
)
def test_wrong_variable_is_told_with_what_is_allowed(
    name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CROUPIER_{name}", value)
    with pytest.raises(UserError) as wrong:
        load_settings()
    assert str(wrong.value).startswith("environment: ")
    assert told in str(wrong.value)


def test_boards_and_rules_can_be_text_or_tables(tmp_path: Path) -> None:
    settings = load_settings(file(tmp_path, '[game]\nrules = "classic"\nboard = "classic"\n'))
    assert settings.game.rules == CLASSIC
    assert settings.game.board.rows == 15
    settings = load_settings(
        file(tmp_path, "[game.board]\nfish = {1 = 3, 2 = 1}\nholes = [[0, 0]]\n")
    )
    assert settings.game.board.fish == {1: 3, 2: 1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[server]\nport = 70000\n", "server.port"),
        ("[server]\nhots = 'x'\n", "no setting server.hots; there are host, port"),
        ("[tournament]\nname = 'a/b'\n", "tournament.name"),
        ("[tournament]\nformat = 'chess'\n", "'knockout'"),
        ("[lobby]\nages = 'maybe'\n", "'sign_up' or 'declared'"),
        ("[game]\nboard = '3x3,holes=1'\n", "3 players with 3 penguins each need 9 tiles"),
        ("[game]\nrules = {ejected = 'penguins_off', lift = 'penguin'}\n", "does not go with"),
        ("[game.board]\nrows = true\n", "board.rows is True"),
        ("server = 1\n", "server is a section, and not 1"),
        ("[server]\nhost = ''\n", "server.host"),
        ("[server]\nport = true\n", "server.port: a number is wanted, not True"),
        (f"a = {'9' * 5000}\n", "not TOML"),
        (f"a = {'[' * 5000}\n", "not TOML"),
    ],
)
def test_wrong_setting_is_named_with_its_file(text: str, told: str, tmp_path: Path) -> None:
    path = file(tmp_path, text)
    with pytest.raises(UserError) as wrong:
        load_settings(path)
    assert str(wrong.value).startswith(f"{path}: ")
    assert told in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_small_board_will_do_for_small_lobbies(tmp_path: Path) -> None:
    text = "[game]\nboard = '4x2'\n[lobby]\nmax_players = 2\n"
    assert load_settings(file(tmp_path, text)).game.board.rows == 4


def test_wrong_variable_and_wrong_option_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"^command line: server\.port"):
        load_settings(None, {"server": {"port": -1}})
    monkeypatch.setenv("CROUPIER_LOBBY__MINIMUM", "3")
    with pytest.raises(UserError, match=r"^environment: no setting lobby\.minimum"):
        load_settings()
