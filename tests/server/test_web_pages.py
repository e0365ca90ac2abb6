"""The pages of tournaments that are in a data directory, asked for without a socket."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from croupier_common.verdict import Verdict
from croupier_server.storage import catalogue
from croupier_server.tournament.model import Pairing, Result
from croupier_server.web.security import HEADERS
from croupier_server.web.site import Doors
from support.results import played
from support.web import browser, change, fresh, keep

HOSTILE = (
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "a/../b",
    "..",
    'say "hi" & <b>',
    "x.json",
    "\u202eevil",
    "~2F",
    "y" * 10_000,
)

PAGES = ("/", "/t/cup", "/t/cup/games", "/t/cup/p/a", "/t/cup/downloads", "/connect")


def cup(data: Path, **options: Any) -> None:
    """Three who met each other twice; of each pair, who comes first in the alphabet won."""
    results = [
        played(f"{number}.1.{game}", pair[0], pair[1], seats=pair[:: 3 - 2 * game])
        for number, pair in enumerate(("ab", "ac", "bc"), 1)
        for game in (1, 2)
    ]
    keep(data, results, **options)


@pytest.mark.parametrize("path", PAGES)
async def test_page_is_html_without_scripts_of_its_own_and_has_all_headers(
    path: str, tmp_path: Path
) -> None:
    cup(tmp_path)
    async with browser(tmp_path) as client:
        answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert not re.search(r"<script(?! type=.module. src)|<style|\sstyle=|\son\w+=", answer.text)
    assert "s3cret" not in answer.text


@pytest.mark.parametrize("path", PAGES)
async def test_page_has_a_tag_and_is_sent_once(path: str, tmp_path: Path) -> None:
    cup(tmp_path)
    async with browser(tmp_path) as client:
        first = await client.get(path)
        again = await client.get(path, headers={"If-None-Match": first.headers["etag"]})
        head = await client.head(path)
    assert (again.status_code, again.content) == (304, b"")
    assert (head.status_code, head.content) == (200, b"")


async def test_standings_in_their_order_with_intervals_and_cross_table(tmp_path: Path) -> None:
    cup(tmp_path)
    async with browser(tmp_path) as client:
        found = (await client.get("/t/cup.json")).json()
        text = (await client.get("/t/cup")).text
    assert [row["name"] for row in found["standings"]] == ["a", "b", "c"]
    assert found["standings"][0]["winner"]
    assert found["standings"][0]["score"]["low"] < 1
    assert found["cross_table"]["points"] == [[None, 2.0, 2.0], [0.0, None, 2.0], [0.0, 0.0, None]]
    assert found["ranked_by"][0] == "points"
    assert text.index(">a<") < text.index(">b<") < text.index(">c<")


async def test_points_are_written_with_their_thirds_and_are_numbers_in_json(
    tmp_path: Path,
) -> None:
    keep(tmp_path, [played("1.1", "a", "b", "c", failed="d"), played("1.2", "ad", "b", "c")])
    async with browser(tmp_path) as client:
        table = (await client.get("/t/cup")).text
        player = (await client.get("/t/cup/p/a")).text
        wall = (await client.get("/t/cup/live")).text
        found = (await client.get("/t/cup.json")).json()
    assert re.findall(r'</th>\s*<td class="n">([^<]*)</td>', table)[:4] == ["1⅚", "1", "⅚", "⅓"]
    assert '<td class="n">1½<small>/2</small></td>' in table
    assert "<dd>1⅚</dd>" in player
    assert '<td class="n">⅚</td>' in player
    assert "1⅚ points" in wall
    assert "⅓ point<" in wall
    assert sorted(row["points"] for row in found["standings"]) == pytest.approx(
        [1 / 3, 5 / 6, 1, 11 / 6]
    )


async def test_bracket_has_all_rounds_of_a_knock_out(tmp_path: Path) -> None:
    results = [
        played("1.1", "a", "b", "c", failed="d"),
        played("1.2", "e", "f", "g"),
        played("2.1", "a", "e"),
    ]
    keep(tmp_path, results, form="knockout")
    async with browser(tmp_path) as client:
        found = (await client.get("/t/cup.json")).json()
        text = (await client.get("/t/cup")).text
    assert [(one["round"], one["games"]) for one in found["rounds"]] == [(1, 2), (2, 1)]
    assert found["rounds"][0]["first"][0]["verdicts"] == {"d": "timeout"}
    assert '<h2 id="rounds">Bracket</h2>' in text


async def test_list_of_games_by_player_round_and_state(tmp_path: Path) -> None:
    cup(tmp_path, status="running", form="swiss")
    async with browser(tmp_path) as client:

        async def games(query: str) -> list[str]:
            found = (await client.get(f"/t/cup/games.json?{query}")).json()["games"]
            return [one["pairing"] for one in found]

        assert await games("") == ["3.1.2", "3.1.1", "2.1.2", "2.1.1", "1.1.2", "1.1.1"]
        assert await games("player=b") == ["3.1.2", "3.1.1", "1.1.2", "1.1.1"]
        assert await games("round=2") == ["2.1.2", "2.1.1"]
        assert await games("status=finished&size=1&page=6") == ["1.1.1"]
        assert await games("status=open") == []


@pytest.mark.parametrize(
    "query",
    [
        "size=0",
        "size=201",
        "size=-1",
        "page=0",
        "page=1000000000000",
        "page=x",
        "page=1e3",
        "page=%D9%A1",
    ],
)
async def test_what_no_list_has_is_refused(query: str, tmp_path: Path) -> None:
    cup(tmp_path)
    async with browser(tmp_path) as client:
        answers = [await client.get(f"{path}?{query}") for path in PAGES[:5]]
    assert {answer.status_code for answer in answers} == {400}
    assert "is a whole number from 1 to" in answers[0].text


async def test_page_behind_the_last_is_not_there(tmp_path: Path) -> None:
    cup(tmp_path)
    async with browser(tmp_path) as client:
        answer = await client.get("/t/cup/games.json?page=2")
    assert answer.status_code == 404
    assert answer.json() == {"error": "There is no page 2: the last is 1.", "status": 404}


@pytest.mark.parametrize(
    "path",
    [
        *("/t/none", "/t/cup/p/nobody", "/t/cup/g/9.9/record.jsonl", "/t/cup/downloads/x.csv"),
        *("/nothing", "/static/../site.py", "/static/%2e%2e/site.py", "/static/..%2fsite.py"),
        *("/t/%2e%2e/games", "/static/", "/t/cup/"),
    ],
)
async def test_what_is_not_there_is_a_page_that_says_so(path: str, tmp_path: Path) -> None:
    cup(tmp_path)
    async with browser(tmp_path) as client:
        answer = await client.get(path)
    assert answer.status_code == 404
    assert "<h1>There is no such page</h1>" in answer.text
    assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


async def test_hostile_names_are_text_on_every_page_and_in_every_link(tmp_path: Path) -> None:
    results = [
        Result(f"1.{at}", f"1.{at}", 1, (name, HOSTILE[at - 1]), "played", ((name,),))
        for at, name in enumerate(HOSTILE)
        if at
    ]
    keep(tmp_path, results, form="swiss", status="running")
    async with browser(tmp_path) as client:
        text = (await client.get("/t/cup")).text
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert "y" * 100 not in re.sub(r'href="[^"]*"', "", text)
        links = set(re.findall(r'href="(/t/cup/p/[^"]*)"', text))
        assert len(links) == len(HOSTILE)
        names: set[str] = set()
        for link in links:
            page, data = await client.get(link), await client.get(f"{link}.json")
            assert (page.status_code, data.status_code) == (200, 200)
            assert "<script>alert" not in page.text
            names.add(data.json()["name"])
        assert names == set(HOSTILE)
        table = (await client.get("/t/cup/downloads/standings.csv")).text
    cells = [cell for row in csv.reader(io.StringIO(table, newline="")) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


async def test_player_learns_why_it_is_out_and_what_to_do(tmp_path: Path) -> None:
    cup(tmp_path, status="running")
    reason = {"verdict": "timeout", "phase": "movement", "detail": "no answer in <1000> ms"}

    def throw_out(connection: Connection) -> None:
        [row] = [one for one in catalogue.entrants(connection, 1) if one.name == "b"]
        catalogue.set_entrant(connection, row.id, status="ejected", reason=reason)

    change(tmp_path, throw_out)
    async with browser(tmp_path) as client:
        text = (await client.get("/t/cup/p/b")).text
        found = (await client.get("/t/cup/p/b.json")).json()
        table = (await client.get("/t/cup.json")).json()
    assert Verdict.TIMEOUT.fix in text.replace("&#39;", "'")
    assert "no answer in &lt;1000&gt; ms" in text
    assert found["status"] == "ejected"
    assert found["out"]["verdict"] == "timeout"
    assert [one["name"] for one in table["out"]] == ["b"]
    assert table["standings"][-1]["name"] == "b"


async def test_new_results_show_once_they_are_there(tmp_path: Path) -> None:
    waiting = [Pairing("2.1.1", ("b", "a"), 2, "2.1")]
    keep(tmp_path, [played("1.1.1", "a", "b")], status="running", waiting=waiting)

    def settle(connection: Connection) -> None:
        pairing = catalogue.find_pairing(connection, 1, "2.1.1")
        assert pairing is not None
        catalogue.add_result(connection, pairing.id, played("2.1.1", "b", "a"))

    async with browser(tmp_path) as client:
        before = (await client.get("/t/cup.json")).json()
        assert before["tournament"]["games"]["open"] == 1
        page = await client.get("/t/cup")
        change(tmp_path, settle)
        await fresh()
        after = (await client.get("/t/cup.json")).json()
        other = await client.get("/t/cup")
    assert [row["points"] for row in before["standings"]] == [1.0, 0.0]
    assert [row["points"] for row in after["standings"]] == [1.0, 1.0]
    assert other.headers["etag"] != page.headers["etag"]


async def test_tables_and_archive_have_no_secret_and_are_whole(tmp_path: Path) -> None:
    cup(tmp_path)
    async with browser(tmp_path) as client:
        listed = (await client.get("/t/cup/downloads.json")).json()
        archive = await client.get(listed["archive"])
        tables = {one["name"]: await client.get(one["url"]) for one in listed["tables"]}
    assert tables["standings"].headers["content-type"].startswith("text/csv")
    assert 'filename="cup-standings.csv"' in tables["standings"].headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(archive.content)) as found:
        assert found.testzip() is None
        texts = {name: found.read(name).decode() for name in found.namelist()}
    assert set(texts) == {f"{name}.csv" for name in tables}
    for name, answer in tables.items():
        assert texts[f"{name}.csv"] == answer.text
        assert "s3cret" not in answer.text


async def test_archive_of_what_still_runs_is_refused(tmp_path: Path) -> None:
    cup(tmp_path, status="running")
    async with browser(tmp_path) as client:
        listed = (await client.get("/t/cup/downloads.json")).json()
        answer = await client.get("/t/cup/downloads/all.zip")
    assert listed["archive"] is None
    assert answer.status_code == 404


async def test_seed_is_told_by_no_page_before_the_end(tmp_path: Path) -> None:
    cup(tmp_path, status="running")
    async with browser(tmp_path) as client:
        for path in ("/t/cup.json", "/t/cup/games.json", "/t/cup/downloads/games.csv"):
            assert 'seed":' not in (await client.get(path)).text


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("here:8080", "ws://here:8000"),
        ("[::1]:8080", "ws://[::1]:8000"),
        ("evil';rm -rf ~;'", "ws://localhost:8000"),
        ("x" * 300, "ws://localhost:8000"),
    ],
)
async def test_connecting_is_told_with_the_name_that_the_visitor_uses(
    host: str, shown: str, tmp_path: Path
) -> None:
    cup(tmp_path)
    doors = Doors("0.0.0.0", 8000, rooms=("cup", "other"), practice=("greedy", "minimax:2"))
    async with browser(tmp_path, doors) as client:
        text = (await client.get("/connect", headers={"Host": host})).text
        found = (await client.get("/connect.json", headers={"Host": host})).json()
    assert found["address"] == shown
    commands = [one["command"] for one in found["commands"]]
    assert f"penguin join {shown} my_player/my_player.py --name NAME --room other" in commands
    assert any(command.endswith("--room practice:minimax:2") for command in commands)
    assert "rm -rf" not in text
