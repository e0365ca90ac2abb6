"""From what was found out to points, each with its reasons; pure, so that it can be made again.

Each line's points are rounded to a hundredth, so that what is printed adds up. What verdicts cost
is taken off their sum, then come the caps; what is left is never below 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from croupier_server.grading.evidence import Evidence
from croupier_server.grading.rubric_lines import Conformance, Kind, Line
from croupier_server.grading.rubric_model import Cap, Hidden, Rubric
from croupier_server.grading.scoring_lines import (
    counted,
    levels_of,
    percent,
    share_of,
    why_not_built,
)

__all__ = ["Grade", "LineScore", "Taken", "grade", "verdict_counts"]

Status = Literal["passed", "partial", "failed"]


@dataclass(frozen=True, slots=True)
class LineScore:
    """The points of one line.

    Attributes:
        of: the most that there are.
        reasons: sentences for the student.
        public: whether students may see it before they have their grade.
        steps: of the conformance check, which it looks at.
        levels: the house players whose games it looks at.
    """

    id: str
    title: str
    kind: Kind
    points: float
    of: float
    status: Status
    reasons: tuple[str, ...]
    public: bool = True
    steps: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """Points that were taken off, above 0, and why."""

    points: float
    reason: str


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one submission.

    Attributes:
        name: the submission's.
        title: the rubric's.
        of: all points that there are.
        hidden: when students see the lines that are not public.
        strongest: the last house player that public lines name; empty if there is none.
    """

    name: str
    title: str
    lines: tuple[LineScore, ...]
    deductions: tuple[Taken, ...]
    caps: tuple[Taken, ...]
    points: float
    of: float
    hidden: Hidden = "hidden"
    strongest: str = ""

    @property
    def taken(self) -> tuple[Taken, ...]:
        """All that was taken off."""
        return (*self.deductions, *self.caps)


def grade(rubric: Rubric, evidence: Evidence) -> Grade:
    """The grade that a rubric gives for what was found out; the same one for the same."""
    lines = tuple(_score(line, rubric, evidence) for line in rubric.lines)
    of = sum((_exact(line.of) for line in lines), Fraction(0))
    reached = sum((_exact(line.points) for line in lines), Fraction(0))
    deductions = tuple(_deductions(rubric, evidence, reached))
    reached -= sum((_exact(one.points) for one in deductions), Fraction(0))
    caps = tuple(_caps(rubric, evidence, reached, float(of)))
    reached -= sum((_exact(one.points) for one in caps), Fraction(0))
    named = [need.level for need in rubric.public().matches()]
    return Grade(
        evidence.intake.name,
        rubric.title,
        lines,
        deductions,
        caps,
        float(reached),
        float(of),
        rubric.hidden,
        named[-1] if named else "",
    )


def verdict_counts(evidence: Evidence) -> Counter[str]:
    """How many games ended with each verdict on the submission."""
    return Counter(
        game.mishap.verdict.value
        for match in evidence.matches.values()
        for game in match.games
        if game.mishap is not None
    )


def _score(line: Line, rubric: Rubric, evidence: Evidence) -> LineScore:
    share = share_of(line, rubric, evidence)
    points = _rounded(_exact(line.points) * share.part)
    status: Status = "partial"
    if share.part in {0, 1}:
        status = "passed" if share.part else "failed"
    return LineScore(
        id=line.id,
        title=line.title,
        kind=line.kind,
        points=points,
        of=line.points,
        status=status,
        reasons=share.reasons,
        public=line.public,
        steps=line.wanted if isinstance(line, Conformance) else (),
        levels=levels_of(line, rubric),
    )


def _deductions(rubric: Rubric, evidence: Evidence, reached: Fraction) -> Iterator[Taken]:
    """What verdicts cost; never more than there is."""
    counts = verdict_counts(evidence)
    most = rubric.deductions.most
    left = reached if most is None else min(reached, _exact(most))
    for verdict, each in sorted(rubric.deductions.each.items()):
        games = counts[verdict.value]
        cost = _exact(each) * games
        taken = min(cost, left)
        left -= taken
        if taken:
            told = f"{verdict} in {counted(games, 'game')}, {counted(each, 'point')} each"
            limit = f"{most:g} in all" if most is not None and most < reached else "what there is"
            told += f", no more than {limit}" if taken < cost else ""
            yield Taken(float(taken), told)


def _caps(rubric: Rubric, evidence: Evidence, reached: Fraction, of: float) -> Iterator[Taken]:
    """What caps cost, those that are felt; in the order of the rubric."""
    for cap in rubric.caps:
        why = _why(cap, evidence)
        most = cap.points(of)
        cost = reached - _exact(most)
        if why and cost > 0:
            reached -= cost
            share = f" ({percent(cap.most / 100)})" if cap.is_percent else ""
            yield Taken(float(cost), f"at most {most:g} points{share}: {why}")


def _why(cap: Cap, evidence: Evidence) -> str:
    """Why a cap is in force; empty if it is not."""
    match cap.when:
        case "not built":
            return why_not_built(evidence)
        case "conformance failed":
            return _why_not_conformant(evidence)
        case "verdicts":
            games = sum(verdict_counts(evidence).values())
            told = f"{counted(games, 'game')} ended with a verdict"
            return told if games >= cap.games else ""


def _why_not_conformant(evidence: Evidence) -> str:
    checked = evidence.checked
    if checked is None:
        return why_not_built(evidence) or "the conformance check was not reached"
    if checked.problem:
        return "there was no conformance check"
    failed = [step.step for step in checked.steps if step.status == "fail"]
    return f"the conformance check failed: {_some(sorted(failed))}" if failed else ""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _exact(points: float) -> Fraction:
    """Points as they are written, to the hundredth."""
    return Fraction(round(points * 100), 100)


def _rounded(points: Fraction) -> float:
    """To the nearest hundredth."""
    return float(Fraction(int(points * 100 + Fraction(1, 2)), 100))
