"""Tables, spans and which tournament is meant."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from croupier_server.commands.places import chosen, safe
from croupier_server.commands.spans import span
from croupier_server.commands.tables import Column, draw, fitting, lines
from croupier_server.errors import UserError
from croupier_server.storage.catalogue import TournamentRow, TournamentStatus

COLUMNS = (
    *(Column("place"), Column("name", is_text=True), Column("points")),
    *(Column("games", rank=1), Column("fish", rank=2)),
)
ROWS = [["1", "Ada with a long name", "12.5", "14", "731"], ["2", "鵜飼", "11", "14", "690"]]


@settings(max_examples=60, deadline=None)
@given(st.integers(20, 200))
def test_table_fits_the_terminal_and_keeps_its_numbers(width: int) -> None:
    told = io.StringIO()
    draw(Console(file=told, width=width, color_system=None), COLUMNS, ROWS)
    table = told.getvalue().splitlines()
    assert all(len(line) <= width for line in table)
    if width >= 30:
        assert "12.5" in told.getvalue()
    if width >= 60:
        assert "Ada with a long name" in told.getvalue()
        assert "731" in told.getvalue()


def test_columns_give_way_by_rank() -> None:
    widths = [5, 20, 6, 5, 4]
    assert fitting(COLUMNS, widths, 100) == [0, 1, 2, 3, 4]
    assert fitting(COLUMNS, widths, 36) == [0, 1, 2, 3]
    assert fitting(COLUMNS, widths, 10) == [0, 1, 2]


def test_plain_lines_stand_in_columns_with_wide_characters_too() -> None:
    assert lines(COLUMNS, ROWS) == [
        "place  name                  points  games  fish",
        "    1  Ada with a long name    12.5     14   731",
        "    2  鵜飼                      11     14   690",
    ]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        *((0, "0 s"), (0.04, "0 s"), (2.34, "2.3 s"), (10, "10 s"), (59.6, "1 min")),
        *((61, "1 min 1 s"), (3_600, "1 h"), (12_000, "3 h 20 min"), (200_000, "2 days 7 h")),
    ],
)
def test_span_in_words(seconds: float, told: str) -> None:
    assert span(seconds) == told


ROW = TournamentRow(1, "a", "swiss", "finished", 1, {}, 0, None, None, None)


def rows(*named: tuple[str, TournamentStatus]) -> list[TournamentRow]:
    return [replace(ROW, name=name, status=status) for name, status in named]


def test_tournament_may_go_unnamed_where_only_one_can_be_meant() -> None:
    assert chosen(rows(("a", "finished")), None, "data").name == "a"
    assert chosen(rows(("a", "finished"), ("b", "running")), None, "data").name == "b"
    assert chosen(rows(("a", "finished"), ("b", "running")), "a", "data").name == "a"


@pytest.mark.parametrize("status", ["finished", "running"])
def test_several_that_could_be_meant_are_named(status: TournamentStatus) -> None:
    with pytest.raises(UserError, match=r"which tournament.*b, a$"):
        chosen(rows(("a", status), ("b", status)), None, "data")


def test_wrong_name_lists_those_there_are_safely() -> None:
    with pytest.raises(UserError) as told:
        chosen(rows(("a", "running"), ("b\x1b[2J", "running")), "\x1b]0;x\x07", "data")
    assert str(told.value) == "data: no tournament '?]0;x?'; there are b?[2J, a"
    with pytest.raises(UserError, match="there is no tournament yet"):
        chosen([], "a", "data")


def test_safe_text_has_no_control_or_bidi_characters() -> None:
    assert safe("a\x1b\u202e\nb") == "a???b"
    assert len(safe("x" * 10_000)) == 60
