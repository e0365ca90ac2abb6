"""What is told, written out and changed of a tournament that is in a data directory."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile
from itertools import pairwise
from pathlib import Path

import click
import pytest

from croupier_server.commands.export import export
from croupier_server.commands.orders import disqualify, replay, void
from croupier_server.commands.orders import pause as pause_command
from croupier_server.commands.standings import standings
from croupier_server.commands.status import status
from croupier_server.errors import UserError
from croupier_server.storage import catalogue
from croupier_server.storage.once import look_once
from croupier_server.tournament.model import Pairing, Result
from support.kept import keep, orders, row_of
from support.results import played

HOSTILE = ("=cmd|' /C calc'!A0", "@x", "a,b", 'say "hi"', "two\nlines", "\u202eevil", "y" * 10_000)


def invoke(command: click.Command, data: Path, *args: str) -> int:
    code: int = command.main([*args, "--data", str(data)], standalone_mode=False)
    return code


def cup(data: Path, *, form: str = "round-robin") -> None:
    """Three who met each other twice; of each pair, who comes first in the alphabet won."""
    pairs = ("ab", "ac", "bc")
    results = [
        played(f"{number}.1.{game}", pair[0], pair[1], seats=pair[:: 3 - 2 * game])
        for number, pair in enumerate(pairs, 1)
        for game in (1, 2)
    ]
    keep(data, results, form=form)


def duels(names: tuple[str, ...]) -> list[Result]:
    return [
        Result(f"1.{at}", f"1.{at}", 1, (one, other), "played", ((one,), (other,)))
        for at, (one, other) in enumerate(pairwise(names), 1)
    ]


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_table_tells_places_ties_and_the_winner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cup(tmp_path)
    assert invoke(standings, tmp_path) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "cup: round-robin, finished, 6 games played"
    assert [line.split()[:3] for line in told[2:5]] == [
        ["1", "a", "4"],
        ["2", "b", "2"],
        ["3", "c", "0"],
    ]
    assert told[2].endswith("winner")
    assert told[5] == "ranked by points, then head_to_head, then wins, then fish"


def test_each_table_and_the_report_can_be_read_by_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cup(tmp_path)
    invoke(standings, tmp_path, "--json")
    report = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in report["standings"]["rows"]] == ["a", "b", "c"]
    assert [row["name"] for row in report["ratings"]] == ["a", "b", "c"]
    assert report["cross_table"]["points"] == [[None, 2.0, 2.0], [0.0, None, 2.0], [0.0, 0.0, None]]
    assert report["seats"][0]["games"] == 6
    for option, first in ((), "place"), (("--ratings",), "place"), (("--cross-table",), "name"):
        invoke(standings, tmp_path, "--csv", *option)
        table = rows(capsys.readouterr().out)
        assert table[0][0] == first
        assert len(table) == 4
    invoke(standings, tmp_path, "--seats")
    assert "no seat is clearly better" in capsys.readouterr().out


def test_points_are_exact_in_tables_and_numbers_for_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path, [played("1.1", "a", "b", "c", failed="d"), played("1.2", "ad", "b")])
    invoke(standings, tmp_path)
    table = [line.split()[:3] for line in capsys.readouterr().out.splitlines()[2:6]]
    assert table == [["1", "a", "1¾"], ["2", "d", "¾"], ["3", "b", "⅔"], ["4", "c", "⅓"]]
    invoke(standings, tmp_path, "--cross-table")
    assert "1½/2" in capsys.readouterr().out
    invoke(standings, tmp_path, "--csv")
    found = rows(capsys.readouterr().out)
    at = found[0].index("points")
    assert [row[at] for row in found[1:]] == ["1.75", "0.75", "0.6667", "0.3333"]
    invoke(standings, tmp_path, "--json")
    told = json.loads(capsys.readouterr().out)["standings"]["rows"]
    assert [row["points"] for row in told] == pytest.approx([1.75, 0.75, 2 / 3, 1 / 3])


def test_forfeits_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b"), played("1.1.2", "a", failed="b", kind="forfeit")])
    for option, points in ((), "2"), (("--without-forfeits",), "1"):
        invoke(standings, tmp_path, "--csv", *option)
        table = rows(capsys.readouterr().out)
        assert table[1][table[0].index("points")] == points


def test_status_as_json_has_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waiting = [Pairing("2.1.1", ("a", "c"), 2, "2.1")]
    keep(tmp_path, [played("1.1.1", "a", "b")], status="running", waiting=waiting)
    invoke(status, tmp_path, "--json")
    text = capsys.readouterr().out
    [found] = json.loads(text)
    assert (found["name"], found["status"], found["server"]) == ("cup", "running", None)
    assert found["games"]["finished"] == found["games"]["open"] == 1
    assert [player["name"] for player in found["players"]] == ["a", "b", "c"]
    assert "s3cret" not in text
    invoke(status, tmp_path)
    assert "running, but no server plays it now" in capsys.readouterr().out


def test_export_of_hostile_names_is_whole_and_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path, duels(HOSTILE), form="swiss")
    out = tmp_path / "x.zip"
    invoke(export, tmp_path, "--out", str(out))
    with zipfile.ZipFile(out) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    table = rows(texts["standings.csv"])
    assert {row[1].removeprefix("'") for row in table[1:]} == set(HOSTILE)
    assert {len(row) for row in table} == {len(table[0])}
    assert len(rows(texts["results.csv"])) == 1 + 2 * (len(HOSTILE) - 1)
    for name, text in texts.items():
        if name.endswith(".csv"):
            assert not any(cell[:1] in {"=", "@"} for row in rows(text) for cell in row)
    summary = json.loads(texts["tournament.json"])
    assert {entrant["name"] for entrant in summary["entrants"]} == set(HOSTILE)
    assert "s3cret" not in texts["tournament.json"]
    invoke(standings, tmp_path)
    invoke(status, tmp_path)
    assert "\u202e" not in capsys.readouterr().out


def test_export_again_has_the_same_bytes_and_bom_marks_tables(tmp_path: Path) -> None:
    cup(tmp_path)
    for name in ("a.zip", "b.zip"):
        invoke(export, tmp_path, "--out", str(tmp_path / name))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    invoke(export, tmp_path, "--out", str(tmp_path / "folder"), "--bom")
    assert (tmp_path / "folder" / "games.csv").read_bytes().startswith(b"\xef\xbb\xbfgame,")
    assert (tmp_path / "folder" / "tournament.json").read_bytes().startswith(b"{")


def test_export_keeps_commands_and_their_variables_to_itself(tmp_path: Path) -> None:
    programs = [{"name": "a", "command": ["./s3cret"], "env": {"KEY": "s3cret"}}]
    config = {"lobby": {"programs": programs, "roster": "/s3cret/roster.toml"}}
    keep(tmp_path, [played("1.1.1", "a", "b")], config=config, status="running")
    invoke(export, tmp_path, "--out", str(tmp_path / "x"))
    for file in (tmp_path / "x").rglob("*.*"):
        assert "s3cret" not in file.read_text(encoding="utf-8")
    assert json.loads((tmp_path / "x" / "tournament.json").read_text())["seed"] is None


def test_void_after_the_end_changes_table_and_result_and_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cup(tmp_path)
    ended = row_of(tmp_path).ended_ms
    for game in ("1.1.1", "1.1.2", "2.1.1", "2.1.2"):
        assert invoke(void, tmp_path, game, "--reason", "wrong board") == 0
    row = row_of(tmp_path)
    assert (row.status, row.ended_ms) == ("finished", ended)
    assert row.result["winners"] == ["b"]
    assert [order.verb for order in orders(tmp_path)] == ["void"] * 4
    assert orders(tmp_path)[0].argument == {"about": "1.1.1", "reason": "wrong board"}
    assert orders(tmp_path)[0].outcome == "done; the standings are made without it"
    invoke(standings, tmp_path)
    assert "b" in capsys.readouterr().out.splitlines()[-4]
    with pytest.raises(UserError, match="is void already"):
        invoke(void, tmp_path, "1.1.1", "--reason", "again")


def test_replay_after_the_end_opens_game_and_tournament(tmp_path: Path) -> None:
    cup(tmp_path)
    assert invoke(replay, tmp_path, "2.1.2", "--reason", "network") == 0
    row = row_of(tmp_path)
    assert (row.status, row.ended_ms) == ("running", None)
    left = look_once(tmp_path, lambda connection: catalogue.results(connection, row.id))
    assert set(left) == {"1.1.1", "1.1.2", "2.1.1", "3.1.1", "3.1.2"}
    assert orders(tmp_path)[0].outcome == "done; it is played again: croupier run FILE"


def test_knockout_keeps_games_that_a_round_was_paired_from(tmp_path: Path) -> None:
    results = [played("1.1", "a", "b"), played("1.2", "c", "d"), played("2.1", "a", "c")]
    keep(tmp_path, results, form="knockout")
    for command in (void, replay):
        with pytest.raises(UserError, match=r"refused: round 2 was paired from the result of 1\.1"):
            invoke(command, tmp_path, "1.1", "--reason", "x")
    assert not orders(tmp_path)
    invoke(void, tmp_path, "2.1", "--reason", "x")
    assert row_of(tmp_path).result["winners"] == ["a", "c"]


@pytest.mark.parametrize(
    ("command", "args", "told"),
    [
        (void, ["7.7", "--reason", "x"], r"refused: no game '7\.7'"),
        (void, ["\x1b[2J", "--reason", "x"], r"refused: no game '\?\[2J'"),
        (replay, ["2.1", "--reason", "x"], "is a bye, with no game"),
        (pause_command, [], "is over: pause changes nothing"),
        (disqualify, ["a", "--reason", "x"], "is over: disqualify changes nothing"),
        (void, ["1.1.1", "cap", "--reason", "x"], "no tournament 'cap'; there are cup"),
    ],
)
def test_refused_orders_after_the_end_change_nothing(
    command: click.Command, args: list[str], told: str, tmp_path: Path
) -> None:
    bye = Result("2.1", "2.1", 2, ("c",), "bye", (("c",),))
    keep(tmp_path, [played("1.1.1", "a", "b"), bye], form="swiss")
    before = row_of(tmp_path)
    with pytest.raises(UserError, match=told):
        invoke(command, tmp_path, *args)
    assert row_of(tmp_path) == before
    assert not orders(tmp_path)


def test_tables_that_exclude_each_other_are_refused(tmp_path: Path) -> None:
    for options in (["--ratings", "--seats"], ["--json", "--csv"], ["--seats", "--csv"]):
        with pytest.raises(UserError, match="only one of"):
            invoke(standings, tmp_path, *options)


def test_nothing_kept_anywhere_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no croupier\.db here"):
        invoke(status, tmp_path)
    with pytest.raises(UserError, match="nothing is kept there"):
        status.main(["--data", ""], standalone_mode=False)


@pytest.mark.parametrize(
    "command", ["new", "plan", "run", "status", "standings", "export", "pause", "void", "withdraw"]
)
def test_help_needs_nothing_heavy(command: str) -> None:
    heavy = ("numpy", "sqlalchemy", "pydantic", "rich", "structlog", "openskill", "networkx")
    program = (
        "import sys; from croupier_server.cli import _croupier; "
        f"_croupier.main([{command!r}, '--help'], standalone_mode=False); "
        f"print(sorted(sys.modules.keys() & set({heavy!r})))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True
    )
    assert told.stdout.splitlines()[-1] == "[]"
