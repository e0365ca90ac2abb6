"""Points as people write them, with thirds and sixths exact: ``2⅓``, ``½``, ``10``.

One sign for a fraction keeps a column of figures narrow and in line, as in the tables of chess.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from croupier_server.commands.csv_files import number
from croupier_server.tournament.points import PARTS

__all__ = ["point_text"]

SIGNS: Final = {
    Fraction(1, 2): "½",
    Fraction(1, 3): "⅓",
    Fraction(2, 3): "⅔",
    Fraction(1, 4): "¼",
    Fraction(3, 4): "¾",
    Fraction(1, 6): "⅙",
    Fraction(5, 6): "⅚",
}

_ABOVE: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_BELOW: Final = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")

NEAR: Final = 1e-6
"""How far a number may be from whole parts of a point that it stands for."""


def point_text(points: Fraction | float | None) -> str:
    """Points in words for a table; nothing for None.

    What is no number of whole :data:`~croupier_server.tournament.points.PARTS`, as a mean may be,
    has four places after the point.
    """
    if points is None:
        return ""
    parts = round(points * PARTS)
    if parts < 0 or abs(float(points) * PARTS - parts) > NEAR * max(1, parts):
        return number(points)
    whole, rest = divmod(parts, PARTS)
    return f"{whole if whole or not rest else ''}{_sign(Fraction(rest, PARTS))}"


def _sign(rest: Fraction) -> str:
    """What stands behind the whole points; twelfths, which only mixed tables give, have no sign."""
    if not rest:
        return ""
    if rest in SIGNS:
        return SIGNS[rest]
    above = str(rest.numerator).translate(_ABOVE)
    return f"{above}\N{FRACTION SLASH}{str(rest.denominator).translate(_BELOW)}"
