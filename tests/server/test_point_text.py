"""Points as people read them, in Python and in the browser."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

import croupier_server.web
from croupier_server.commands.point_text import point_text
from croupier_server.tournament.points import PARTS
from support.node import node_command

STATIC = Path(croupier_server.web.__file__).parent / "static"

TOLD = """
import { pointText } from "%s/words.js";
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(pointText)));
"""


@pytest.mark.parametrize(
    ("points", "text"),
    [
        (0, "0"),
        (Fraction(1, 2), "½"),
        (1 / 3, "⅓"),
        (Fraction(5, 3), "1⅔"),
        (Fraction(35, 6), "5⅚"),
        (10, "10"),
        (Fraction(1234 * 4 + 3, 4), "1234¾"),
        (Fraction(17, 12), "1⁵\N{FRACTION SLASH}₁₂"),
        (sum([1 / 6] * 5_000), "833⅓"),
        (Fraction(2, 7), "0.2857"),
        (-0.5, "-0.5"),
        (None, ""),
    ],
)
def test_points_are_exact_if_they_are_whole_parts(
    points: Fraction | float | None, text: str
) -> None:
    assert point_text(points) == text


def test_browser_writes_points_in_the_same_way(tmp_path: Path) -> None:
    given = [parts / PARTS for parts in range(3 * PARTS)] + [2 / 7, 1000 + 1 / 3]
    program = tmp_path / "told.mjs"
    program.write_text(TOLD % STATIC.as_uri(), encoding="utf-8")
    told = subprocess.run(
        [node_command(), str(program), json.dumps(given)],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    assert json.loads(told.stdout) == [point_text(points) for points in given]
