"""Who may play: names, tokens, look-alikes, and the file that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from croupier_server.errors import Refused, UserError
from croupier_server.names import checked_name, likeness, name_key
from croupier_server.roster import Entrant, Roster, new_token

CYRILLIC_A = "\u0430"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada", f"Ad{CYRILLIC_A}"),
        ("l1", "Il"),
        ("B0B", "BOB"),
        ("ada", "ADA"),
        ("Ada", "Ada\ufe0f"),
        ("Ada", "A\u034fda\u3164"),
        ("\uff21da", "Ada"),
        ("p\u0430ypal", "paypal"),
    ],
)
def test_names_that_a_reader_takes_for_one_another_are_alike(one: str, other: str) -> None:
    assert likeness(one) == likeness(other)


@pytest.mark.parametrize(("one", "other"), [("Ada", "Eda"), ("a b", "ab"), ("Jörg", "Jorg")])
def test_other_names_are_not_alike(one: str, other: str) -> None:
    assert likeness(one) != likeness(other)


def test_name_key_is_blind_to_case_and_composition() -> None:
    assert name_key("ZOE\u0308") == name_key("zo\u00eb")


def test_name_key_is_blind_to_what_is_not_seen() -> None:
    assert name_key("Ada\u3164\ufe0f") == name_key("ada")
    assert checked_name("\u2764\ufe0f") == "\u2764\ufe0f"


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "a\nb", "\u202eabc", "\u200babc", "x" * 33, "a\x00", "\u3164", "\u2800\ufe0f"],
)
def test_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        checked_name(name)


def test_entrant_is_admitted_with_its_own_token_only() -> None:
    mine, other = new_token(), new_token()
    roster = Roster(()).with_token("Ada", mine, age=20).with_token("Ben", other)
    assert roster.admit("ada", mine).age == 20
    for name, token in (("Ada", other), ("Ada", None), ("Ada", ""), ("Cleo", mine), ("Ben", mine)):
        with pytest.raises(Refused, match="not in it together"):
            roster.admit(name, token)


def test_new_token_voids_the_old_one_and_keeps_the_age() -> None:
    old, new = new_token(), new_token()
    roster = Roster(()).with_token("Ada", old, age=20).with_token("ADA", new)
    assert roster.admit("Ada", new) == Entrant("Ada", roster.entrants[0].token, 20)
    with pytest.raises(Refused):
        roster.admit("Ada", old)


def test_look_alikes_are_refused_by_name() -> None:
    roster = Roster(()).with_token("Ada", new_token())
    with pytest.raises(UserError, match="can't be told apart by eye"):
        roster.with_token(f"Ad{CYRILLIC_A}", new_token())


def test_file_is_read_as_it_was_written_and_holds_no_token(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    token = new_token()
    roster = (
        Roster(()).with_token('A "quoted" \\ name', token, age=0).with_token("Zoë", new_token())
    )
    roster.write(path)
    assert Roster.read(path).entrants == roster.entrants
    assert token not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\n", "a roster has"),
        ("[[entrant]]\nage = 3\n", "entrant 1 has no name"),
        ("[[entrant]]\nname = 'a'\n", "token is no hash"),
        ("[[entrant]]\nname = 'a'\ntoken = 'secret'\n", "token is no hash"),
        (f"[[entrant]]\nname = 'a'\ntoken = 'sha256:{'é' * 64}'\n", "token is no hash"),
        (f"[[entrant]]\nname = 'a'\ntoken = 'sha256:{'A' * 64}'\n", "token is no hash"),
        ("[[entrant]]\nname = 'a'\nnmae = 'a'\n", "no field 'nmae'"),
        (f"[[entrant]]\nname = 'a'\ntoken = 'sha256:{'0' * 64}'\nage = -1\n", "age is -1"),
        ("[[entrant]]\nname = ' a'\n", "no space at either end"),
        ("entrant = 3\n", "a roster has"),
        ("not toml", "not TOML"),
        (
            "".join(
                f"[[entrant]]\nname = '{n}'\ntoken = 'sha256:{'0' * 64}'\n" for n in ("a", "A")
            ),
            "can't be told apart",
        ),
    ],
)
def test_wrong_file_is_refused_with_the_place(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as wrong:
        Roster.read(path)
    assert str(wrong.value).startswith(f"{path}: ")
    assert told in str(wrong.value)
