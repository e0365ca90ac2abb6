"""What kept a submission from being graded whole, in words: the first of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from croupier_server.grading.evidence import Evidence

__all__ = ["Problem", "problem_of"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why it went no further.

    Attributes:
        title: where that was: "It did not build".
        text: why, in one line.
    """

    title: str
    text: str


def problem_of(evidence: Evidence) -> Problem | None:
    """The first problem on the way; None if all that was asked for could be done."""
    return next(_problems(evidence), None)


def _problems(evidence: Evidence) -> Iterator[Problem]:
    if evidence.intake.problem:
        yield Problem("It was not graded", evidence.intake.problem)
    if evidence.built is not None and evidence.built.status == "failed":
        yield Problem("It did not build", evidence.built.detail)
    if evidence.checked is not None and evidence.checked.problem:
        yield Problem("It could not be checked", evidence.checked.problem)
    for match in evidence.matches.values():
        if match.problem:
            yield Problem("It did not play", match.problem)
