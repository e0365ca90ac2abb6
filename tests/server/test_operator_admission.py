"""Who may play: the roster changed from the operator's page, and read again by the server."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from croupier_server.errors import Refused, UserError
from croupier_server.roster import Roster, RosterFile
from croupier_server.web.operator.forms import AdmitForm
from support.kept import keep, orders
from support.operating import operator

PAGE = "/operator/t/cup"


async def gathering(tmp_path: Path, *, with_roster: bool = True) -> Path:
    """A tournament that waits for players, and its roster with one in it."""
    roster = tmp_path / "roster.toml"
    Roster(()).with_token("Ada", "first", 20).write(roster)
    config = {"lobby": {"roster": str(roster) if with_roster else None}}
    await asyncio.to_thread(keep, tmp_path, [], status="gathering", config=config)
    return roster


async def test_admitted_entrant_is_in_the_roster_with_the_token_that_is_shown_once(
    tmp_path: Path,
) -> None:
    roster = await gathering(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        told = await boss.told("cup", "admit", name="Ben", age="30")
        found = re.search("Ben is in the roster: done .* (\\S{32})$", told)
        assert found is not None
        entrant = Roster.read(roster).admit("Ben", found[1])
        assert (entrant.name, entrant.age) == ("Ben", 30)
        page = (await boss.get(PAGE)).text
        assert found[1] not in page
        assert "admit" in page
    (note,) = await asyncio.to_thread(orders, tmp_path)
    assert (note.verb, note.argument, note.outcome) == ("admit", {"about": "Ben"}, "done")
    assert note.done_ms is not None
    assert note.by == "operator (web)"
    assert found[1] not in str(note)


async def test_who_is_in_gets_a_new_token(tmp_path: Path) -> None:
    roster = await gathering(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        told = await boss.told("cup", "admit", name="ada")
        assert "it has a new token" in told
    with pytest.raises(Refused):
        Roster.read(roster).admit("Ada", "first")
    assert Roster.read(roster).admit("Ada", told.split()[-1]).age == 20


async def test_removed_entrant_is_no_longer_in_the_roster(tmp_path: Path) -> None:
    roster = await gathering(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        assert "no longer in the roster" in await boss.told("cup", "remove", name="ADA")
        assert "is not in the roster" in await boss.told("cup", "remove", name="Ada")
    assert Roster.read(roster).entrants == ()
    assert [one.verb for one in await asyncio.to_thread(orders, tmp_path)] == ["remove"]


@pytest.mark.parametrize(
    ("name", "age", "told"),
    [
        ("", "", "Give the entrant's name"),
        ("Ad\u0430", "", "can't be told apart"),
        ("a\tb", "", "printable"),
        ("x" * 33, "", "1 to 32"),
        ("Ben", "old", "whole number"),
        ("Ben", "-1", "whole number"),
        ("Ben", "9999999", "whole number"),
    ],
)
async def test_name_or_age_that_cannot_be_changes_nothing(
    tmp_path: Path, name: str, age: str, told: str
) -> None:
    roster = await gathering(tmp_path)
    before = roster.read_bytes()
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        answer = await boss.told("cup", "admit", name=name, age=age)
        assert answer.startswith("Not done: ")
        assert told in answer
    assert roster.read_bytes() == before
    assert await asyncio.to_thread(orders, tmp_path) == []


async def test_without_a_roster_there_is_no_form_for_it(tmp_path: Path) -> None:
    await gathering(tmp_path, with_roster=False)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        page = await boss.get(PAGE)
        assert f'action="{PAGE}/admit"' not in page.text
        mark = page.text.partition('name="mark" value="')[2][:64]
        answer = await boss.client.post(f"{PAGE}/admit", data={"mark": mark, "name": "Ben"})
        assert answer.status_code == 303
        assert "no roster" in (await boss.get(PAGE)).text


async def test_two_admitted_at_once_are_both_in(tmp_path: Path) -> None:
    roster = await gathering(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        names = [f"player {at}" for at in range(8)]
        await asyncio.gather(*(boss.told("cup", "admit", name=name) for name in names))
    assert {one.name for one in Roster.read(roster).entrants} == {"Ada", *names}


def test_form_takes_names_as_they_are() -> None:
    assert AdmitForm.of({"name": " Ben ", "age": " 7 "}) == AdmitForm("Ben", 7)
    assert AdmitForm.of({"name": "Ben", "age": ""}) == AdmitForm("Ben")


# -- the server's side


def test_roster_is_read_again_when_its_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    Roster(()).with_token("Ada", "one").write(path)
    roster = RosterFile(path)
    with pytest.raises(Refused):
        roster.admit("Ben", "two")
    Roster.read(path).with_token("Ben", "two").write(path)
    assert roster.admit("Ben", "two").name == "Ben"
    Roster.read(path).without("Ada").write(path)
    with pytest.raises(Refused):
        roster.admit("Ada", "one")


def test_roster_stays_as_it_was_while_its_file_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    Roster(()).with_token("Ada", "one").write(path)
    roster = RosterFile(path)
    path.write_text("[[entrant", encoding="utf-8")
    assert roster.admit("Ada", "one").name == "Ada"
    path.unlink()
    assert roster.admit("Ada", "one").name == "Ada"
    Roster(()).with_token("Ben", "two").write(path)
    assert roster.admit("Ben", "two").name == "Ben"
    with pytest.raises(UserError):
        RosterFile(tmp_path / "none.toml")
