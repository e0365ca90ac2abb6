"""The rubric: what a submission is put to, and what points that gives.

It is a TOML file, see ``examples/rubric.toml``. What has been read is a value; the same one comes
out of what :func:`dump_rubric` writes.
"""

from __future__ import annotations

from croupier_server.grading.rubric_lines import (
    Beats,
    Builds,
    Conformance,
    FinishedGames,
    Line,
    PlaceLine,
    ThinkTime,
)
from croupier_server.grading.rubric_model import (
    Cap,
    Deductions,
    GameSetup,
    MatchNeed,
    Robin,
    Rubric,
)
from croupier_server.grading.rubric_reading import load_rubric
from croupier_server.grading.rubric_writing import dump_rubric

__all__ = [
    "Beats",
    "Builds",
    "Cap",
    "Conformance",
    "Deductions",
    "FinishedGames",
    "GameSetup",
    "Line",
    "MatchNeed",
    "PlaceLine",
    "Robin",
    "Rubric",
    "ThinkTime",
    "dump_rubric",
    "load_rubric",
]
