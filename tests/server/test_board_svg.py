"""The board as the server draws it, and as the scripts of the pages do: the same, ply by ply."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

from croupier_common.board import Board
from croupier_common.board_spec import BoardSpec
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.record import Record, read_record, walk
from croupier_common.rules import CLASSIC, FISH, OPTIONS, Rules, penguins_for
from croupier_common.state import Stage, State
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.web.board_svg import Last, badge_svg, board_svg
from support.drawn import random_game
from support.node import node_command
from support.recorded import CLASSIC_BOARD, recorded

STATIC = Path(__file__).parents[2] / "server/src/croupier_server/web/static"
SIXTY = BoardSpec.from_text("10x6")

PROGRAM = """
import { readFileSync } from "node:fs";
const [folder, asked] = process.argv.slice(2);
const load = (name) => import(`${folder}/${name}`);
const { parseRecord, Timeline } = await load("record.js");
const { legalMoves, legalPlacements, rulesOf } = await load("rules.js");
const { badgeTree, boardTree } = await load("board.js");
const { treeText } = await load("tree.js");
const JOBS = {
  draw({ text }) {
    const { header, lines, flaw } = parseRecord(text);
    const timeline = new Timeline(header);
    for (const line of lines) timeline.push(line);
    const boards = timeline.positions.map((position) => treeText(boardTree(header, position)));
    return { boards, flaw, interrupted: timeline.interrupted, last: timeline.positions.at(-1) };
  },
  legal({ text }) {
    const { header, lines } = parseRecord(text);
    const timeline = new Timeline(header);
    for (const line of lines) timeline.push(line);
    return timeline.positions.map((position) => [
      ...legalPlacements(position, timeline.rules).map((at) => [at]), ...legalMoves(position),
    ]);
  },
  refuse({ text }) {
    try {
      const { header, lines, flaw } = parseRecord(text);
      const timeline = new Timeline(header);
      for (const line of lines) timeline.push(line);
      return flaw;
    } catch (problem) { return problem.message; }
  },
  rules({ value }) { return rulesOf(value); },
  badges({ colors }) { return colors.map((color) => treeText(badgeTree(color))); },
};
const jobs = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(jobs.map((job) => JOBS[asked](job))));
"""


def by_node(folder: Path, asked: str, jobs: Sequence[dict[str, Any]]) -> list[Any]:
    """What the scripts make of some jobs."""
    program = folder / "program.mjs"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [node_command(), str(program), STATIC.as_uri(), asked],
        input=json.dumps(jobs).encode(),
        capture_output=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr.decode()
    found: list[Any] = json.loads(done.stdout)
    return found


def read(lines: Sequence[str]) -> Record:
    return read_record((line.encode() for line in lines), unfinished=True)


def boards(lines: Sequence[str]) -> Iterator[str]:
    record = read(lines)
    for ply, (game, events) in enumerate(walk(record)):
        assert game.state is not None
        last = Last.of([numbered.event for numbered in events])
        yield board_svg(record.header, game.state, ply=ply, last=last)


def any_rules(random: Random) -> Rules:
    while True:
        chosen = {name: random.choice(values) for name, values in OPTIONS.items()}
        if chosen["ejected"] != "penguins_off" or chosen["lift"] in {"never", "end"}:
            return Rules(**chosen)


def any_records(count: int) -> list[list[str]]:
    """Records of all kinds: any rules, boards with holes, players who are ejected or not there."""
    found: list[list[str]] = []
    for seed in range(count):
        random = Random(seed)
        rows, columns, players = random.randint(3, 9), random.randint(3, 6), random.randint(2, 4)
        fish = [random.choice((0, 1, 1, 1, 2, 3, 5, 9)) for _ in range(rows * columns)]
        fish[: players * penguins_for(players)] = [1] * players * penguins_for(players)
        absent = [c for c in list(Color)[:players] if random.random() < 0.1]
        board = Board(rows, columns, tuple(fish))
        ejections = random.choice((0, 0, 0.05, 0.2))
        plies = random.choice((10**6, 10**6, 7, 0))
        rules = any_rules(random)
        try:
            lines = recorded(
                seed,
                board,
                players,
                rules,
                absent=absent,
                ejections=ejections,
                plies=plies,
                finish=seed % 3 > 0,
            )
        except ValueError:  # fewer players have more penguins, and too little room for them
            continue
        found.append(lines)
    assert len(found) > count // 2
    return found


def test_scripts_draw_what_the_server_draws(tmp_path: Path) -> None:
    games = [
        recorded(1, SIXTY, 4),
        recorded(2, CLASSIC_BOARD, 3, CLASSIC),
        recorded(3, CLASSIC_BOARD, 4, CLASSIC, ejections=0.03),
        *any_records(120),
    ]
    found = by_node(tmp_path, "draw", [{"text": "".join(lines)} for lines in games])
    for number, (lines, drawn) in enumerate(zip(games, found, strict=True)):
        for ply, (ours, theirs) in enumerate(zip(boards(lines), drawn["boards"], strict=True)):
            assert theirs == ours, f"game {number}, ply {ply}"


def test_scripts_know_the_legal_actions(tmp_path: Path) -> None:
    games = [recorded(5, CLASSIC_BOARD, 2, CLASSIC), recorded(6, SIXTY, 3), *any_records(60)]
    found = by_node(tmp_path, "legal", [{"text": "".join(lines)} for lines in games])
    for lines, told in zip(games, found, strict=True):
        for (game, _), theirs in zip(walk(read(lines)), told, strict=True):
            assert game.state is not None
            ours = [_as_json(action) for action in game.state.legal_actions]
            assert theirs == ours


def _as_json(action: Any) -> list[list[int]]:
    if hasattr(action, "at"):
        return [[*action.at]]
    return [[*action.start], [*action.end]]


def test_scripts_know_the_rules_by_name(tmp_path: Path) -> None:
    values = ["fish", "classic", {"preset": "classic", "islands": "keep"}, {"lift": "end"}]
    found = by_node(tmp_path, "rules", [{"value": value} for value in values])
    for value, theirs in zip(values, found, strict=True):
        ours = Rules.from_json(value)
        assert theirs == {name: getattr(ours, name) for name in OPTIONS}


def test_badges_are_the_same(tmp_path: Path) -> None:
    (found,) = by_node(tmp_path, "badges", [{"colors": [*Color]}])
    assert found == [badge_svg(color) for color in Color]


def test_scores_and_verdicts_of_the_scripts(tmp_path: Path) -> None:
    games = any_records(60)
    found = by_node(tmp_path, "draw", [{"text": "".join(lines)} for lines in games])
    for lines, drawn in zip(games, found, strict=True):
        *_, (game, _) = walk(read(lines))
        assert game.state is not None
        theirs = drawn["last"]
        assert theirs["turn"] == game.state.turn
        assert theirs["stage"] == game.state.stage
        for ours, player in zip(game.state.players, theirs["players"], strict=True):
            assert (player["fish"], player["tiles"]) == (ours.fish, ours.tiles)
            verdict = game.faults[ours.color].verdict if ours.ejected else None
            assert player["verdict"] == verdict
        kind = json.loads(lines[-1])["event"]["kind"]
        assert (drawn["flaw"] is None) == (kind in {"end", "interrupted"})
        assert drawn["interrupted"] == ("the server stopped" if kind == "interrupted" else None)


LINES = recorded(4, BoardSpec.from_text("4x3"))


def first_line(old: str, new: str) -> list[str]:
    assert old in LINES[0]
    return [LINES[0].replace(old, new), *LINES[1:]]


def test_scripts_refuse_what_is_no_record(tmp_path: Path) -> None:
    cases: list[tuple[list[str], str]] = [
        ([], "the record is empty"),
        ([LINES[0][:50]], "the first line is cut off"),
        (LINES[:-1], "It is cut off after"),
        ([*LINES[:-1], LINES[-1][:30]], "It is cut off after"),
        ([*LINES, LINES[-1]], f"has number {len(LINES) - 1}, not {len(LINES)}"),
        ([*LINES, "x"], "something follows after the end"),
        ([LINES[0], *LINES[2:]], "line 2 has number 2, not 1"),
        (["[]\n", *LINES[1:]], "line 1 is not a line of a record"),
        (["<script>\n", *LINES[1:]], "line 1 is not a line of JSON"),
        (first_line('"format":1', '"format":2'), "format is 2"),
        (first_line('"red"', '"x onload"'), "players are wrong"),
        (first_line('"white"', '"red"'), "two players have one colour"),
        (first_line('"rules":"fish"', '"rules":"__proto__"'), "no rules are called __proto__"),
        (first_line('"board":[[', '"board":[[-1,'), "no numbers of fish"),
        ([LINES[0], re.sub(r"\[\d,\d", "[99,99", LINES[1]), *LINES[2:]], "line 2: [99,99]"),
    ]
    found = by_node(tmp_path, "refuse", [{"text": "".join(lines)} for lines, _ in cases])
    for (_, reason), told in zip(cases, found, strict=True):
        assert reason in told


def test_holes_are_absent_and_the_rest_is_well_formed() -> None:
    for drawn in boards(recorded(2, CLASSIC_BOARD, 4, CLASSIC)):
        root = ET.fromstring(drawn)
        tiles = [one for one in root.iter() if one.get("class") == "hole"]
        assert all(not list(tile) for tile in tiles)
        left = len([one for one in root.iter() if one.get("class") == "ice"])
        assert left + len(tiles) == 60


def test_classic_board_lies_as_on_the_table() -> None:
    """Rows of seven and eight tiles, the first of seven, each tile with a corner on top."""
    first = next(boards(recorded(2, CLASSIC_BOARD, 4, CLASSIC)))
    spots = re.findall(r'data-at="\d+,\d+" transform="translate\((\d+) (\d+)\)"', first)
    rows = sorted({int(y) for _, y in spots})
    assert [sum(int(y) == row for _, y in spots) for row in rows] == [7, 8] * 4
    assert first.count("0,-40") >= 60


def test_board_of_one_row_and_a_lone_player() -> None:
    lines = recorded(1, Board(1, 12, (3,) * 12), 2, FISH, absent=[Color.RED])
    assert "the game is over" in list(boards(lines))[-1]


def test_last_of_an_ejection_has_no_places() -> None:
    state = random_game(1, Board(4, 4, (2,) * 16), 2, FISH)[-1]
    assert state.stage is Stage.OVER
    game = Game("1.1", Board(4, 4, (2,) * 16), [Color.RED, Color.WHITE])
    game.begin()
    events = game.fault(Color.RED, Fault(Verdict.TIMEOUT, Phase.PLACEMENT, "late"))
    assert Last.of([numbered.event for numbered in events]) == Last("eject", Color.RED)
    assert Last.of([]) is None
    events = Game("1.1", Board(4, 4, (2,) * 16), [Color.RED, Color.WHITE]).begin(
        {Color.RED: Fault(Verdict.NO_START, Phase.GAME_START, "silent")}
    )
    assert Last.of([numbered.event for numbered in events]) is None


def test_first_board_is_small() -> None:
    state = State.begin(SIXTY.build(1), list(Color))
    record = read(recorded(1, SIXTY, 4))
    assert len(board_svg(record.header, state, ply=0)) < 35_000
