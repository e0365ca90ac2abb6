"""The load generator's parts: what it counts, what it answers, and what it refuses to do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.board_spec import BoardSpec
from croupier_common.game import Game
from croupier_common.notation import state_to_json
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_server.errors import UserError
from croupier_server.load.choice import answer, is_one_fish
from croupier_server.load.cli import load
from croupier_server.load.figures import Figures
from croupier_server.load.histogram import Histogram
from croupier_server.load.plan import Plan, read_tokens, visitors
from croupier_server.load.report import document, text
from croupier_server.load.target import check_url

PAGE = Path(__file__).parents[2].joinpath("docs", "load.md").read_text(encoding="utf-8")
SECONDS = st.lists(st.floats(0, 100), min_size=1, max_size=200)


def counted(*durations: float) -> Histogram:
    histogram = Histogram()
    for seconds in durations:
        histogram.add(seconds)
    return histogram


# -- counting


@given(SECONDS, st.floats(0.001, 1))
def test_quantile_is_at_most_a_bucket_too_large(durations: list[float], share: float) -> None:
    exact = sorted(durations)[-int(-share * len(durations) // 1) - 1] * 1000
    told = counted(*durations).quantile_ms(share)
    assert exact - 0.001 <= told <= exact * (1 + 1 / 32) + 0.001


@given(SECONDS, SECONDS)
def test_histograms_of_two_processes_are_one(some: list[float], others: list[float]) -> None:
    together = counted(*some)
    together.merge(counted(*others))
    assert together.to_json() == counted(*some, *others).to_json()


def test_durations_below_zero_are_none_and_no_durations_have_no_quantiles() -> None:
    assert counted(-0.001).to_json()["max"] == 0
    assert Histogram().to_json() == {"count": 0}


def test_figures_of_two_processes_add_up() -> None:
    some, others = Figures(), Figures()
    for figures, moment in ((some, 10.9), (others, 11.1), (others, 12.5)):
        figures.turn(moment)
        figures.begun.add("room/1.1/a,b")
        figures.error("closed 1006", f"at {moment}")
    others.joined = 3
    some.merge(others)
    assert (some.turns, some.joined, some.begun) == (3, 3, {"room/1.1/a,b"})
    assert some.playing.seconds == pytest.approx(1.6)
    assert (some.errors["closed 1006"], some.examples["closed 1006"]) == (3, "at 10.9")


# -- answering


def begun(board: str, rules: Rules, players: int, seed: int) -> Game:
    colors = list(Color)[:players]
    tiles = BoardSpec.from_text(board).build(seed, rules=rules, players=players)
    game = Game("1.1", tiles, colors, rules)
    game.begin()
    return game


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(
    ("rules", "board"), [(FISH, "5x5,holes=3,fish=1-5"), (FISH, "9x7"), (CLASSIC, "classic")]
)
def test_whole_games_are_played_by_legal_answers(rules: Rules, board: str, listed: bool) -> None:
    for seed in range(3):
        game = begun(board, rules, players=2 + seed, seed=seed)
        while (request := game.request) is not None:
            state: Any = json.loads(json.dumps(state_to_json(request.state, whole=False)))
            params: dict[str, Any] = {"state": state, "you": request.color.value}
            if listed:
                params["legal_actions"] = [a.to_json() for a in request.state.legal_actions]
            call = {"method": request.method, "params": params}
            chosen = answer(call, is_one_fish(rules.to_json()), Random(seed))
            legal = {json.dumps(action.to_json()): action for action in request.state.legal_actions}
            game.act(legal[json.dumps(chosen)])


# -- what is refused


@pytest.mark.parametrize(
    "url",
    ["ws://localhost:1", "wss://127.9.9.9", "ws://[::1]:80/play", "ws://[::]:80", "ws://0.0.0.0:1"],
)
def test_own_machine_may_be_loaded(url: str) -> None:
    check_url(url, is_mine=False)


@pytest.mark.parametrize(
    "url", ["ws://example.org", "wss://[2001:db8::1]:80", "ws://10.0.0.1", "ws://localhost.org"]
)
def test_other_machine_is_loaded_only_when_the_user_says_that_it_is_theirs(url: str) -> None:
    with pytest.raises(UserError, match="--yes-this-is-my-server"):
        check_url(url, is_mine=False)
    check_url(url, is_mine=True)


@pytest.mark.parametrize("url", ["http://x", "ws://", "ws://[::1", "ws://x:99999", "x", "ws://x:0"])
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="ws://HOST:PORT"):
        check_url(url, is_mine=True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--think", "soon"], "--think 'soon'"),
        (["--think", "9-2"], "ends before it begins"),
        (["--players", "0"], "--players 0"),
        (["--name-prefix", "p" * 40], "--name-prefix"),
        (["--token-file", "missing"], "missing: No such file"),
    ],
)
def test_mistaken_option_is_told_before_anything_is_tried(options: list[str], told: str) -> None:
    outcome = CliRunner().invoke(load, ["ws://127.0.0.1:1", *options])
    assert isinstance(outcome.exception, UserError)
    assert told in str(outcome.exception)


def test_nobody_listens() -> None:
    outcome = CliRunner().invoke(load, ["ws://127.0.0.1:1"])
    assert isinstance(outcome.exception, UserError)
    assert "can't reach ws://127.0.0.1:1" in str(outcome.exception)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_too_few_open_files_are_told_with_how_to_have_more() -> None:
    command = f"ulimit -n 128; exec {sys.executable} -m croupier_server load ws://127.0.0.1:1"
    done = subprocess.run(
        ["sh", "-c", f"{command} --players 200"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "so 64 connections, and 200 are wanted" in done.stderr
    assert "ulimit -Hn 264" in done.stderr


# -- who comes


def test_idle_players_come_first_and_the_others_go_to_the_rooms_in_turn() -> None:
    come = visitors(3, 2, prefix="p", rooms=("a", "b"), idle_room="c")
    assert [(one.name, one.room, one.is_idle) for one in come] == [
        ("pidle-1", "c", True),
        ("pidle-2", "c", True),
        ("p1", "a", False),
        ("p2", "b", False),
        ("p3", "a", False),
    ]


def test_processes_share_players_and_pace() -> None:
    plan = Plan("ws://x", visitors(5, 0, prefix="p"), rate=100)
    shares = plan.shares(2)
    assert [len(share.visitors) for share in shares] == [3, 2]
    assert {one for share in shares for one in share.visitors} == set(plan.visitors)
    assert sum(share.rate for share in shares) == plan.rate
    assert sum(share.at_once for share in shares) == plan.at_once


def test_tokens_are_read_as_the_token_command_prints_them(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("Ada L\tsecret-1\n\nBo\tsecret-2\n", encoding="utf-8")
    tokens = read_tokens(file)
    assert tokens == [("Ada L", "secret-1"), ("Bo", "secret-2")]
    assert [one.token for one in visitors(2, 0, prefix="p", tokens=tokens)] == [
        "secret-1",
        "secret-2",
    ]
    with pytest.raises(UserError, match="it has 2 entrants, and 3 are to join"):
        visitors(2, 1, prefix="p", tokens=tokens)


def test_bad_line_of_tokens_is_named_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("Ada\tsecret\nBo secret\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 2: not a name, a tab and a token") as refused:
        read_tokens(file)
    assert "secret" not in str(refused.value)


# -- the page


def test_page_names_every_option_and_its_commands_exist() -> None:
    options = [option for parameter in load.params for option in parameter.opts]
    assert [o for o in options if o.startswith("--") and f"`{o}" not in PAGE] == []
    commands = re.findall(r"^croupier load [^\n]+(?:\\\n[^\n]+)*", PAGE, re.MULTILINE)
    assert len(commands) > 3
    for command in commands:
        words = command.replace("\\\n", " ").split()[2:]
        assert CliRunner().invoke(load, [*words, "--help"]).exit_code == 0, command


def test_page_describes_every_field_of_the_document() -> None:
    figures = Figures()
    figures.error("closed 1006")
    figures.durations["lag"].add(1)

    def names(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for name, inner in cast("dict[str, object]", value).items():
                yield name
                yield from names(inner)

    told = {*names(report(figures))} - {"closed 1006"}
    assert [name for name in sorted(told) if f"`{name}`" not in PAGE] == []


# -- the report


def report(figures: Figures) -> dict[str, Any]:
    return document(Plan("ws://x", visitors(2, 1, prefix="p")), 1, figures, "all were done")


def test_report_keeps_to_80_columns_whatever_goes_wrong() -> None:
    figures = Figures(opened=10**6, joined=10**6, turns=10**9, idle_asked=10**6)
    figures.error("refused -32002", "a long\nstory " * 40)
    for durations in figures.durations.values():
        durations.add(5_000)
    lines = list(text(report(figures)))
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("        1  refused -32002: a long story") for line in lines)


def test_late_generator_warns_that_the_figures_are_its_own() -> None:
    figures = Figures()
    for _ in range(90):
        figures.durations["lag"].add(0.001)
    assert report(figures)["warnings"] == []
    for _ in range(10):
        figures.durations["lag"].add(0.05)
    (warning,) = report(figures)["warnings"]
    assert "the machine had no more time for it" in warning


def test_busy_generator_warns_too() -> None:
    figures = Figures()
    figures.busy.update({30: 3, 97: 7})
    (warning,) = report(figures)["warnings"]
    assert "97 % of a core" in warning
    assert "use more --processes" in warning
