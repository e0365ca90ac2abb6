"""Programs as an operator writes them down."""

from __future__ import annotations

from pathlib import Path

import pytest

from croupier_server.errors import UserError
from croupier_server.gateway.program import Program, programs_from_settings


def test_program_from_text_is_split_as_a_shell_would() -> None:
    assert Program.from_text("Pingu = ./p 'a b' --x=1") == Program(
        name="Pingu", command=("./p", "a b", "--x=1")
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Pingu", "it is NAME=COMMAND"),
        ("=x", "it is NAME=COMMAND"),
        ("a= ", "it is NAME=COMMAND"),
        ("a='x", "no closing quotation"),
    ],
)
def test_program_from_text_that_is_none_is_refused(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        Program.from_text(text)


def test_programs_from_settings_are_texts_or_tables() -> None:
    table = {
        "name": "b",
        "command": ["./p", "x y"],
        "cwd": "there",
        "env": {"X": "1"},
        "age": 7,
        "token": "t",
        "log": "b.log",
    }
    a, b, c = programs_from_settings(["a=./p", table, {"name": "c", "command": "./p x"}])
    assert a == Program(name="a", command=("./p",))
    assert b == Program(
        name="b",
        command=("./p", "x y"),
        cwd=Path("there"),
        env={"X": "1"},
        age=7,
        token="t",
        log=Path("b.log"),
    )
    assert c.command == ("./p", "x")
    assert programs_from_settings((a, b, c)) == (a, b, c)


def test_secrets_of_a_program_are_not_shown() -> None:
    program = Program(name="a", command=["./p"], env={"KEY": "secret"}, token="secret")
    assert "secret" not in repr(program)


WRONG: list[tuple[object, str]] = [
    ("a=./p", "it is an array"),
    ([1], "a player's : Input should be"),
    ([{"name": "a"}], "a player's command: Field required"),
    ([{"name": "a", "command": []}], "player 'a' has no command"),
    ([{"name": "a", "command": "'"}], "no closing quotation"),
    ([{"name": "a", "command": "x", "comand": "y"}], "a player's comand: Extra inputs"),
    ([{"name": "a", "command": "x", "age": -1}], "a player's age: Input should be greater"),
]


@pytest.mark.parametrize(("value", "told"), WRONG)
def test_settings_that_are_no_programs_are_refused_in_one_line(value: object, told: str) -> None:
    with pytest.raises(ValueError, match=told) as refused:
        programs_from_settings(value)
    assert "\n" not in str(refused.value)
