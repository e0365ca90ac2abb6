"""The overview of all grades for the instructor: one HTML file beside the submissions' folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, median_low
from typing import Final
from urllib.parse import quote

from markupsafe import Markup

from croupier_common.verdict import Verdict
from croupier_server.grading.evidence import Evidence, GamePlayed
from croupier_server.grading.results.charts import Tenth, split_svg, tenths, tenths_svg
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.results.problems import Problem, problem_of
from croupier_server.grading.results.report_html import TEMPLATES
from croupier_server.grading.results.shown_text import filters
from croupier_server.grading.scoring import LineScore
from croupier_server.one_file import OneFile

__all__ = ["overview_html"]

PAGE: Final = OneFile(
    "overview.html", ("tree", "sorting"), ("style", "board", "report"), TEMPLATES, filters()
)


@dataclass(frozen=True, slots=True)
class Row:
    """A submission in the table."""

    name: str
    player: str
    points: float
    lines: tuple[LineScore, ...]
    place: int | None
    median_ms: int | None
    mishaps: int
    problem: Problem | None

    @property
    def link(self) -> str:
        """Where its report is; the dot keeps a name from being taken for the web's address."""
        return f"./{quote(self.name, safe='')}/report.html"


@dataclass(frozen=True, slots=True)
class LineSpread:
    """How a line of the rubric came out."""

    id: str
    title: str
    public: bool
    of: float
    mean: float
    passed: int
    partial: int
    failed: int

    @property
    def split(self) -> Markup:
        """The counts as a bar."""
        return _svg(split_svg((self.passed, self.partial, self.failed)))


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """How often games ended with a verdict, and of how many submissions."""

    verdict: Verdict
    games: int
    submissions: int


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """All that is on the page."""

    title: str
    rows: Sequence[Row]
    lines: Sequence[LineSpread]
    verdicts: Sequence[VerdictCount]
    of: float
    isolation: str
    not_contained: Sequence[str]

    @property
    def grades(self) -> Sequence[float]:
        """The points of all."""
        return [row.points for row in self.rows]

    @property
    def mean(self) -> float:
        """Of the points."""
        return fmean(self.grades)

    @property
    def median(self) -> float:
        """Of the points."""
        return median(self.grades)

    @property
    def highest(self) -> float:
        """Of the points."""
        return max(self.grades)

    @property
    def lowest(self) -> float:
        """Of the points."""
        return min(self.grades)

    @property
    def problems(self) -> Sequence[tuple[Row, Problem]]:
        """Those that were not graded whole."""
        return [(row, row.problem) for row in self.rows if row.problem is not None]

    @property
    def has_places(self) -> bool:
        """Whether there was a round robin."""
        return any(row.place is not None for row in self.rows)

    @property
    def tenths(self) -> Sequence[Tenth]:
        """The grades by tenths of the points."""
        return tenths(points / self.of if self.of else 0.0 for points in self.grades)

    @property
    def columns(self) -> Markup:
        """The same as a chart."""
        return _svg(tenths_svg(self.tenths))


def overview_html(
    title: str, graded: Sequence[Graded], *, isolation: str, not_contained: Sequence[str]
) -> str:
    """The page of all submissions.

    Args:
        graded: in the order of the table; by one rubric.
        isolation: the level in which they ran, in one line.
        not_contained: what it does not keep a program from, as sentences.
    """
    page = OverviewPage(
        title,
        rows=[_row(one) for one in graded],
        lines=_spreads([one.grade.lines for one in graded]),
        verdicts=_verdict_counts([one.evidence for one in graded]),
        of=graded[0].grade.of if graded else 0.0,
        isolation=isolation,
        not_contained=not_contained,
    )
    return PAGE.render(page=page)


def _row(one: Graded) -> Row:
    games = _games(one.evidence)
    times_ms = [time_ms for game in games for time_ms in game.thinks_ms]
    return Row(
        name=one.evidence.intake.name,
        player=one.evidence.intake.player,
        points=one.grade.points,
        lines=one.grade.lines,
        place=one.evidence.placing.place if one.evidence.placing else None,
        median_ms=median_low(times_ms) if times_ms else None,
        mishaps=sum(game.mishap is not None for game in games),
        problem=problem_of(one.evidence),
    )


def _games(evidence: Evidence) -> Sequence[GamePlayed]:
    return [game for match in evidence.matches.values() for game in match.games]


def _spreads(grades: Sequence[tuple[LineScore, ...]]) -> Sequence[LineSpread]:
    return [_spread(scores) for scores in zip(*grades, strict=True)]


def _spread(scores: Sequence[LineScore]) -> LineSpread:
    line = scores[0]
    counts = Counter(score.status for score in scores)
    return LineSpread(
        line.id,
        line.title,
        line.public,
        line.of,
        fmean(score.points for score in scores),
        counts["passed"],
        counts["partial"],
        counts["failed"],
    )


def _verdict_counts(all_evidence: Sequence[Evidence]) -> Sequence[VerdictCount]:
    """The verdicts, the one with most games first."""
    of_each = [
        Counter(game.mishap.verdict for game in _games(evidence) if game.mishap is not None)
        for evidence in all_evidence
    ]
    games = sum(of_each, Counter[Verdict]())
    submissions = Counter(verdict for counts in of_each for verdict in counts)
    return [VerdictCount(one, count, submissions[one]) for one, count in games.most_common()]


def _svg(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - charts of ours, of numbers alone
