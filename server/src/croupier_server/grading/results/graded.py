"""A grade beside what it was made from."""

from __future__ import annotations

from dataclasses import dataclass

from croupier_server.grading.evidence import Evidence
from croupier_server.grading.scoring import Grade

__all__ = ["Graded"]


@dataclass(frozen=True, slots=True)
class Graded:
    """One submission, graded."""

    grade: Grade
    evidence: Evidence
