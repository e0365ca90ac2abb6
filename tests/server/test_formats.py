"""The formats by name: which there are, and what can't be chosen about them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from croupier_server.errors import UserError
from croupier_server.tournament.formats import FORMATS, FormatOptions, make_format
from croupier_server.tournament.tie_breaks import chosen
from support.playing import SIZES, field_of


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_plans_any_field(name: str) -> None:
    shape = make_format(name, FormatOptions())
    for players in SIZES:
        plan = shape.plan(field_of(players).entrants)
        assert bool(plan.first) == (players > 1)
        assert plan.at_once <= players // 2 + 1
    assert chosen(shape.tie_breaks)
    assert shape.takes_late == (name != "knockout")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("swis", {}, "format 'swis': must be one of knockout, round-robin, swiss, ladder"),
        ("swiss", {"table": 5}, "format swiss: table = 5 must be from 2 to 4"),
        ("swiss", {"rounds": 0}, "format swiss: rounds = 0 must be from 1 to 100"),
        ("knockout", {"rounds": 3}, "format knockout: rounds is for swiss only; leave it out"),
        (
            "swiss",
            {"blocks_per_entrant": 3},
            "format swiss: blocks_per_entrant is for round-robin only; leave it out",
        ),
        ("ladder", {"max_games": 0}, "format ladder: max_games = 0 must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused(name: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(UserError) as refused:
        make_format(name, FormatOptions(**options))
    assert str(refused.value) == message


def test_options_reach_the_format() -> None:
    swiss = make_format("swiss", FormatOptions(table=3, rounds=2, seed=5))
    assert swiss.plan(field_of(9).entrants).rounds == 2
    sampled = make_format("round-robin", FormatOptions(blocks_per_entrant=3))
    assert sampled.plan(field_of(200).entrants).games == 600


def test_table_of_formats_loads_no_heavy_library() -> None:
    code = (
        "import sys; import croupier_server.tournament.formats as f;"
        "[f.make_format(name, f.FormatOptions()) for name in f.FORMATS];"
        "sys.exit(bool({'networkx', 'numpy', 'openskill', 'sqlalchemy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0
