"""protocol.md says what the program does: its tables, its messages, its game, its player."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import example_game
import protocol_doc
from croupier_common.grid import Grid, Position
from croupier_common.messages import parse_from_player, parse_from_server
from croupier_common.rules import OPTIONS
from croupier_common.verdict import Phase, Verdict
from croupier_server.app import App
from croupier_server.settings import load_settings

ROOT = protocol_doc.PATH.parent
TEXT = protocol_doc.PATH.read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    """The blocks of code whose fence says that they are of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def section(heading: str) -> str:
    """The text under a heading, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    _, _, rest = TEXT.partition(f"\n{heading}\n")
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def anchors() -> set[str]:
    """What a link within the page can go to."""
    headings = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# -- what is made


async def test_made_parts_are_what_the_models_say() -> None:
    passed = await example_game.play_example()
    wanted = protocol_doc.with_parts(TEXT, passed)
    assert protocol_doc.stale(TEXT, wanted) == []
    assert wanted == TEXT


def test_changed_part_is_named() -> None:
    changed = TEXT.replace("| `-32002` |", "| `-32003` |")
    assert protocol_doc.stale(changed, TEXT) == ["error-codes"]


@pytest.mark.parametrize("mark", ["<!-- made: join -->", "<!-- made: verdicts -->"])
def test_missing_part_is_refused(mark: str) -> None:
    with pytest.raises(ValueError, match="wrong is"):
        protocol_doc.with_parts(TEXT.replace(mark, ""), [])


def test_every_field_in_the_tables_is_explained() -> None:
    rows = re.findall(r"^\| `\w+` \|.*\|$", TEXT, re.MULTILINE)
    assert len(rows) > 60
    assert [row for row in rows if row.endswith("|  |")] == []


# -- messages


def test_every_block_of_json_is_json() -> None:
    for block in [*blocks("json"), *blocks("json player"), *blocks("json server")]:
        json.loads(block)
    assert len(re.findall("^```json", TEXT, re.MULTILINE)) > 30


def test_messages_of_players_are_taken() -> None:
    assert len(blocks("json player")) > 10
    for block in blocks("json player"):
        assert as_sent(parse_from_player(block)) == json.loads(block)


def test_messages_of_servers_have_what_the_models_have_and_no_more() -> None:
    assert len(blocks("json server")) > 10
    for block in blocks("json server"):
        assert as_sent(parse_from_server(block)) == json.loads(block)


def as_sent(message: BaseModel) -> Any:
    return message.model_dump(exclude_unset=True)


def test_every_whole_message_says_who_sends_it() -> None:
    assert [block for block in blocks("json") if "jsonrpc" in block] == []


# -- anchors and words


def test_links_within_the_page_go_somewhere() -> None:
    links = set(re.findall(r"\]\(#([^)]+)\)", TEXT))
    assert links
    assert links - anchors() == set()


def test_links_to_files_go_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", TEXT)
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("verdict", Verdict)
def test_verdict_has_its_section_under_the_link_that_messages_give(verdict: Verdict) -> None:
    page, _, anchor = verdict.link.partition("#")
    assert (ROOT / page).samefile(protocol_doc.PATH)
    assert anchor in anchors()
    told = section(f"### {verdict.value}")
    assert verdict.when in told
    assert verdict.fix in told


def test_verdict_has_phases_if_anything_gives_it_today() -> None:
    given = set(names_in_sources("Verdict", Verdict))
    assert {verdict for verdict in Verdict if verdict.phases} == given


def test_every_phase_of_a_call_has_verdicts() -> None:
    phases = {phase for verdict in Verdict for phase in verdict.phases}
    assert phases == set(Phase) - {Phase.JOIN}  # who may not join gets an error and no verdict


def names_in_sources(name: str, members: type[Verdict]) -> Iterator[Verdict]:
    """The members of an enum that any source names, but for the one that defines it."""
    sources: list[Path] = []
    for folder in ("common", "server"):
        sources += (ROOT / folder / "src").rglob("*.py")
    text = "".join(p.read_text(encoding="utf-8") for p in sources if p.name != "verdict.py")
    for member in members:
        if re.search(rf"\b{name}\.{member.name}\b", text):
            yield member


def test_every_rule_option_and_value_is_explained() -> None:
    told = section("### Rules")
    lines = dict(re.findall(r"^- `(\w+)`: (.*)$", told, re.MULTILINE))
    assert lines.keys() == OPTIONS.keys()
    for name, values in OPTIONS.items():
        assert [value for value in values if f"`{value}`" not in lines[name]] == []


def test_neighbours_in_the_text_are_those_of_the_grid() -> None:
    found = re.search(r"The neighbours of `\[2, 1\]` are ([^.]*)\.", TEXT)
    assert found is not None
    told = [Position(*json.loads(spot)) for spot in re.findall(r"`(.*?)`", found[1])]
    grid = Grid.of(5, 3)
    assert sorted(told) == list(grid.positions(grid.near[grid.tile((2, 1))]))


# -- the player of the quick start


async def test_quick_start_plays_a_tournament(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("python")
    settings = load_settings(
        None,
        {
            "server": {"port": 0},
            "lobby": {"min_players": 2, "max_players": 2, "wait_ms": 10_000},
            "game": {"board": {"tiles": example_game.BOARD}},
            "tournament": {"seed": 1},
            "storage": {"data": ""},
        },
    )
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        server = group.create_task(App(settings, listening=port.set_result).run())
        for name in ("Pingu", "Pinga"):
            source = program.replace("8000", str(await port)).replace("Pingu", name)
            group.create_task(asyncio.to_thread(exec, source, {}))
    assert server.result().faults == {}
    assert {name for _, name in server.result().standings} == {"Pingu", "Pinga"}
    assert capsys.readouterr().out.count('"method":"game_end"') == 2
