"""The table, the cross-table and the intervals of scores."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier_common.verdict import Verdict
from croupier_server.errors import UserError
from croupier_server.tournament.cross_table import Cell, cross_table
from croupier_server.tournament.interval import mean_score, wilson
from croupier_server.tournament.model import Entrant, Field, History
from croupier_server.tournament.points import PARTS, total_parts
from croupier_server.tournament.standings import Row, standings
from croupier_server.tournament.tally import tallied
from croupier_server.tournament.tie_breaks import TIE_BREAKS
from support.results import field, histories, history, played, round_robin, shuffled

ABCDEF = field("abcdef")


def places(rows: tuple[Row, ...]) -> dict[str, int]:
    return {row.name: row.place for row in rows}


def value(of: str, tie_break: str, *results: str) -> Fraction | None:
    """The value of a tie-break for a player, of two-player games "ab": a beats b; "a=b"."""
    games = [
        played(f"1.{at}", text.replace("=", ""), seats=text.replace("=", ""))
        if "=" in text
        else played(f"1.{at}", *text)
        for at, text in enumerate(results)
    ]
    table = standings(ABCDEF, history(*games), [tie_break])
    return next(row.tie_breaks[0] for row in table.rows if row.name == of)


# -- the table


def test_equals_share_the_better_place_and_stay_in_the_fields_order() -> None:
    table = standings(field("abcd"), history(played("1.1", "b", "ac", "d")), ["points"])
    assert [(row.place, row.name) for row in table.rows] == [(1, "b"), (2, "a"), (2, "c"), (4, "d")]


def test_row_says_what_a_player_did() -> None:
    games = history(
        played("1.1", "a", "b"),
        played("2.1", "ab"),
        played("3.1", "b", failed="a"),
        played("4.1", "a", kind="bye"),
        played("5.1", "a", failed="b", kind="forfeit"),
        played("6.1", "b", "a", kind="void"),
    )
    row = next(row for row in standings(field("ab"), games, ["points"]).rows if row.name == "a")
    assert row.points == Fraction(7, 2)
    assert (row.games, row.wins, row.ties, row.losses) == (4, 2, 1, 1)
    assert (row.byes, row.forfeits, row.ejections) == (1, 1, 1)
    assert (row.fish, row.tiles) == (12 + 11, 10)
    assert row.score is not None
    assert row.score.mean == Fraction(1, 2)  # of the three that were played
    assert row.score.blocks == 3


def test_forfeits_can_be_left_out() -> None:
    games = history(
        played("1.1", "a", "b"), played("1.2", "b", failed="a", kind="forfeit"), played("1.3", "ab")
    )
    with_them = standings(field("ab"), games, ["points"])
    without = standings(field("ab"), games, ["points"], count_forfeits=False)
    assert [row.points for row in with_them.rows] == [Fraction(3, 2)] * 2
    assert [row.points for row in without.rows] == [Fraction(3, 2), Fraction(1, 2)]
    assert [row.forfeits for row in without.rows] == [1, 1]


def test_who_is_out_stands_behind_all_others_with_the_reason() -> None:
    games = history(
        played("1.1", "a", "b"),
        played("1.2", "a", failed="c"),
        played("2.1", "b", failed="ac", kind="forfeit"),
    )
    table = standings(field("abcd", out="ac"), games, ["points"])
    assert places(table.rows) == {"b": 1, "d": 2}
    assert places(table.out) == {"a": 3, "c": 4}
    assert table.reason("c") == Verdict.TIMEOUT  # not absent, which only follows from it
    assert table.reason("a") == Verdict.ABSENT
    assert [fall.game for fall in table.falls["c"]] == ["1.2", "2.1"]
    assert standings(field("ab", out="b"), History(), ["points"]).reason("b") is None


def test_table_is_plain_json() -> None:
    games = history(played("1.1", "a", "b"), played("1.2", "a", failed="c"))
    table = standings(field("abc", out="c"), games, list(TIE_BREAKS))
    told = json.loads(json.dumps(table.to_json()))
    assert told["rows"][0]["points"] == 2
    assert told["out"][0]["reason"] == "timeout"


def test_unknown_tie_break_is_refused_with_the_list() -> None:
    with pytest.raises(UserError, match=r"no tie-break 'luck'; there are rounds, points, "):
        standings(field(""), History(), ["points", "luck"])


@settings(max_examples=40)
@given(histories(), st.integers(), st.booleans())
def test_order_of_results_changes_nothing(games: History, seed: int, forfeits: bool) -> None:
    by = list(TIE_BREAKS)
    table = standings(ABCDEF, games, by, count_forfeits=forfeits)
    assert table == standings(ABCDEF, shuffled(games, seed), by, count_forfeits=forfeits)


@settings(max_examples=40)
@given(histories())
def test_sums_agree_with_each_other(games: History) -> None:
    table = standings(ABCDEF, games, ["points"])
    total = total_parts(games.results.values())
    for row in table.rows:
        assert row.points == Fraction(total.get(row.name, 0), PARTS)
        assert row.games == row.wins + row.ties + row.losses
    for above, below in pairwise(table.rows):
        assert above.points >= below.points
        assert (above.points == below.points) == (above.place == below.place)


@settings(max_examples=40)
@given(histories())
def test_points_are_the_shares_of_all_opponents(games: History) -> None:
    for tally in tallied(games.results.values()).values():
        assert tally.parts == sum(versus.parts for versus in tally.versus.values())


# -- tie-breaks


def test_rounds_put_the_winner_first_and_nobody_goes_out_by_a_void_game() -> None:
    games = history(
        played("1.1", "a", "b"),
        played("1.2", "cd", "e", kind="void"),
        played("2.1", "c", "a", failed="d"),
    )
    table = standings(field("abcde", out="d"), games, ["rounds"])
    assert places(table.rows) == {"c": 1, "a": 2, "e": 2, "b": 4}
    assert places(table.out) == {"d": 5}


def test_head_to_head_looks_only_at_those_who_are_equal() -> None:
    games = history(
        played("1.1", "b", "a"), played("1.2", "a", "c"), played("1.3", "b", "c"),
        played("1.4", "a", "d"), played("1.5", "d", "b"), played("1.6", "c", "d"),
    )  # fmt: skip
    table = standings(field("abcd"), games, ["points", "head_to_head"])
    assert places(table.rows) == {"b": 1, "a": 2, "c": 3, "d": 4}
    assert table.rows[0].tie_breaks == (Fraction(2), Fraction(1))


def test_head_to_head_says_nothing_unless_all_met_equally_often() -> None:
    games = history(played("1.1", "a", "b"), played("1.2", "b", "d"), played("1.3", "c", "d"))
    table = standings(field("abcd"), games, ["points", "head_to_head"])
    assert places(table.rows) == {"a": 1, "b": 1, "c": 1, "d": 4}
    assert table.rows[0].tie_breaks == (Fraction(1), None)


def test_tie_breaks_worked_out_by_hand() -> None:
    # a has 2.5 of 3, b 1.5, c 1, d 1
    games = ["ab", "ac", "a=d", "bc", "b=d", "cd"]
    assert value("a", "points", *games) == Fraction(5, 2)
    assert value("a", "buchholz", *games) == Fraction(3, 2) + 1 + 1
    assert value("a", "buchholz_cut1", *games) == Fraction(3, 2) + 1
    assert value("a", "sonneborn_berger", *games) == Fraction(3, 2) + 1 + Fraction(1, 2)
    assert value("a", "wins", *games) == 2
    assert value("c", "mean_points", *games) == Fraction(1, 3)


def test_larger_table_weighs_as_one_game() -> None:
    games = history(played("1.1", "a", "b", "cd"))
    row = standings(field("abcd"), games, ["points", "buchholz", "sonneborn_berger"]).rows[0]
    # b has 2/3 of a point, c and d 1/6 each
    assert row.tie_breaks == (Fraction(1), Fraction(1, 3), Fraction(1, 3))


def test_bye_counts_as_an_equal_opponent() -> None:
    games = history(played("1.1", "a", "b"), played("2.1", "a", kind="bye"))
    row = standings(field("ab"), games, ["buchholz", "sonneborn_berger"]).rows[0]
    assert row.tie_breaks == (Fraction(2), Fraction(2))


def test_forfeited_bye_divides_by_nobody() -> None:
    games = history(played("1.1", failed="a", kind="forfeit"))
    assert standings(field("a"), games, list(TIE_BREAKS)).rows[0].points == 0


def test_fewer_ejections_are_better() -> None:
    games = history(played("1.1", "a", failed="b"))
    table = standings(field("bac"), games, ["fewest_ejections"])
    assert places(table.rows) == {"a": 1, "c": 1, "b": 3}


# -- the cross-table


def test_cross_table_says_who_scored_what_against_whom() -> None:
    games = history(played("1.1", "a", "b"), played("1.2", "b", "ac"), played("1.3", "a", "c"))
    table = cross_table(field("abcd"), games)
    assert table.row("a") == [None, Cell(2, 2), Cell(3, 2), None]
    assert table.lines()[1] == ["a", "", "1/2", "1.5/2", ""]
    told = json.loads(json.dumps(table.to_json()))
    assert told["points"][0] == [None, 1, 1.5, None]
    assert told["games"][3] == [None] * 4
    assert cross_table(field("abcd"), games, ("c", "a")).lines()[0] == ["", "c", "a"]


@settings(max_examples=40)
@given(histories())
def test_cross_table_halves_add_up_to_the_games(games: History) -> None:
    cells = cross_table(ABCDEF, games).cells
    for (name, other), cell in cells.items():
        back = cells[other, name]
        assert cell.games == back.games
        assert cell.halves + back.halves <= 2 * cell.games  # less only where both failed


# -- intervals


def test_wilson_is_that_of_the_textbook() -> None:
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(1.0, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 24), st.just(2)), min_size=1, max_size=40))
def test_interval_has_the_mean_in_it(blocks: list[tuple[int, int]]) -> None:
    score = mean_score(blocks)
    assert score is not None
    assert 0 <= score.low <= score.mean + 1e-9
    assert score.mean - 1e-9 <= score.high <= 1
    assert score.low < score.high


def test_blocks_that_are_alike_within_count_once() -> None:
    alike = mean_score([(0, 2), (24, 2)] * 20)
    as_games = mean_score([(0, 1), (12, 1)] * 40)
    assert alike is not None
    assert as_games is not None
    assert alike.mean == as_games.mean
    assert alike.high - alike.low > 1.3 * (as_games.high - as_games.low)


def test_nobody_has_a_score_without_a_game() -> None:
    assert mean_score([]) is None


# -- size


def test_large_table_is_worked_out_soon() -> None:
    strengths = {f"p{number}": number / 20 for number in range(80)}
    games = round_robin(strengths, ties=0.05)
    took: list[float] = []
    for _ in range(3):
        started = time.process_time()
        tallies = tallied(games.results.values())
        standings(everybody(80), games, list(TIE_BREAKS), tallies=tallies)
        cross_table(everybody(80), games, tallies=tallies)
        took.append(time.process_time() - started)
    # 0.1 s or so for 6,320 games: what grows with the square of them would show
    assert min(took) < 0.5


def everybody(count: int) -> Field:
    return Field(tuple(Entrant(f"p{number}") for number in range(count)))
