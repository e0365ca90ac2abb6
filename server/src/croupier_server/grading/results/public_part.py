"""What a student may know: the grade by the public part of a rubric, and what that was found by."""

from __future__ import annotations

from dataclasses import replace

from croupier_server.grading.evidence import Checked, Evidence
from croupier_server.grading.rubric import Conformance, Rubric
from croupier_server.grading.scoring import Grade, grade

__all__ = ["public_part"]


def public_part(rubric: Rubric, evidence: Evidence) -> tuple[Grade, Evidence]:
    """The grade and the evidence without all that belongs to hidden lines alone.

    The sum is that of the lines that are left: with the whole one, who can subtract would know of
    the others. Deductions and caps count the games that are left, too.
    """
    if all(line.public for line in rubric.lines):
        return grade(rubric, evidence), evidence
    public = rubric.public()
    levels = {need.level for need in public.matches()}
    has_place = any(line.kind == "place" for line in public.lines)
    known = replace(
        evidence,
        checked=_checked(public, evidence.checked),
        matches={level: match for level, match in evidence.matches.items() if level in levels},
        placing=evidence.placing if has_place else None,
    )
    return grade(public, known), known


def _checked(public: Rubric, checked: Checked | None) -> Checked | None:
    """The check with those steps only that a public line asks for, or a cap."""
    if checked is None or not public.wants_check:
        return None
    if any(cap.when == "conformance failed" for cap in public.caps):
        return checked
    lines = [line for line in public.lines if isinstance(line, Conformance)]
    wanted = {step for line in lines for step in line.wanted}
    return replace(checked, steps=tuple(step for step in checked.steps if step.step in wanted))
