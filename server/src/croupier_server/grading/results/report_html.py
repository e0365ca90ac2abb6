"""The report of one submission for its student, as one HTML file: the grade, and why it is so.

It is made of what :func:`~croupier_server.grading.results.public_part.public_part` leaves: nothing
of a hidden line is in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Final

from markupsafe import Markup

from croupier_common.verdict import Verdict
from croupier_server.grading.evidence import (
    Checked,
    Evidence,
    GamePlayed,
    Match,
    Mishap,
    Placing,
    StepResult,
    StepStatus,
)
from croupier_server.grading.results.charts import meter_svg
from croupier_server.grading.results.problems import Problem, problem_of
from croupier_server.grading.results.shown_text import filters, text_block
from croupier_server.grading.results.worst_games import lead, worst_games
from croupier_server.grading.scoring import Grade
from croupier_server.one_file import OneFile, embedded
from croupier_server.web.histogram import Bin, binned, histogram_svg

__all__ = ["TEMPLATES", "report_html"]

TEMPLATES: Final = Path(__file__).parent / "templates"

MODULES: Final = ("tree", "rules", "record", "board", "chart", "words", "replay", "report")

PAGE: Final = OneFile("report.html", MODULES, ("style", "board", "report"), TEMPLATES, filters())

EXAMPLES: Final = 3
"""How many games are named for each verdict."""


@dataclass(frozen=True, slots=True)
class VerdictFound:
    """A verdict that games ended with.

    Attributes:
        examples: game, phase and detail of some of them.
    """

    verdict: Verdict
    limit: str | None
    count: int
    fix: str
    examples: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class StepsFound:
    """Steps of the check that came out alike: one flaw often shows in many of them."""

    steps: tuple[StepResult, ...]

    @property
    def first(self) -> StepResult:
        """What all of them were told."""
        return self.steps[0]


@dataclass(frozen=True, slots=True)
class MatchShown:
    """A match as a row of the table."""

    opponent: str
    games: int
    score: float
    mishaps: int
    note: str


@dataclass(frozen=True, slots=True)
class GameShown:
    """A game that can be stepped through.

    Attributes:
        said: how it ended, in short.
        mishap: the same at length, if it ended with a verdict.
    """

    game: GamePlayed
    others: tuple[str, ...]
    said: str
    mishap: Mishap | None
    record: Markup


@dataclass(frozen=True, slots=True)
class ReportPage:
    """All that is on the page."""

    grade: Grade
    evidence: Evidence
    has_more: bool
    isolation: str
    log: str
    games: Sequence[GameShown]

    @property
    def player(self) -> str:
        """What the page is called after."""
        return self.evidence.intake.player or self.evidence.intake.name

    @property
    def source(self) -> str:
        """The file or folder that was handed in."""
        return self.evidence.intake.source

    @property
    def digest(self) -> str:
        """Of all that was handed in."""
        return self.evidence.intake.digest

    @property
    def notes(self) -> Sequence[str]:
        """What was odd and harmless."""
        return self.evidence.intake.notes

    @property
    def meter(self) -> Markup:
        """The grade as a bar."""
        return _svg(meter_svg(self.grade.points / self.grade.of if self.grade.of else 0.0))

    @property
    def problem(self) -> Problem | None:
        """Why it went no further."""
        return problem_of(self.evidence)

    @property
    def verdicts(self) -> Sequence[VerdictFound]:
        """What games ended with, the most frequent first."""
        return verdicts_of(self.evidence)

    @property
    def checked(self) -> Checked | None:
        """The conformance check."""
        return self.evidence.checked

    @property
    def steps(self) -> Sequence[StepsFound]:
        """The steps that something is to be done about, failed ones first."""
        steps = self.checked.steps if self.checked else ()
        return [*steps_of(steps, "fail"), *steps_of(steps, "warn")]

    @property
    def steps_said(self) -> str:
        """How the check went, in one line."""
        statuses: list[str] = [step.status for step in self.checked.steps] if self.checked else []
        words = {"pass": "passed", "warn": "with a warning", "fail": "failed", "skip": "skipped"}
        counts = [(statuses.count(status), word) for status, word in words.items()]
        told = ", ".join(f"{count} {word}" for count, word in counts if count)
        return f"{len(statuses)} steps: {told}." if statuses else "There was no step to check."

    @property
    def matches(self) -> Sequence[MatchShown]:
        """The table of matches."""
        return [match_shown(match) for match in self.evidence.matches.values()]

    @property
    def placing(self) -> Placing | None:
        """The place in the round robin."""
        return self.evidence.placing

    @property
    def thinks_ms(self) -> Sequence[int]:
        """How long each answer took, the shortest first."""
        games = (game for match in self.evidence.matches.values() for game in match.games)
        return sorted(time_ms for game in games for time_ms in game.thinks_ms)

    @property
    def build(self) -> str:
        """What the build wrote."""
        return text_block(self.evidence.built.output) if self.evidence.built else ""


def report_html(
    grade: Grade,
    evidence: Evidence,
    *,
    records: Mapping[str, str],
    log: str,
    isolation: str,
    has_more: bool = False,
) -> str:
    """The page of a submission.

    Args:
        grade, evidence: what the student may know of them.
        records: the lines of records, by the game's id; of the games that
            :func:`~croupier_server.grading.results.worst_games.worst_games` gives.
        log: what the submission wrote to its standard error.
        isolation: the level that it ran in, in one line.
        has_more: whether the rubric has lines that students are not shown.

    Raises:
        ValueError: a hidden line is in the grade.
    """
    if not all(line.public for line in grade.lines):
        raise ValueError("a hidden line in what a student is shown")
    games = [_game_shown(game, records) for game in worst_games(evidence) if game.game in records]
    page = ReportPage(grade, evidence, has_more, isolation, text_block(log), games)
    return PAGE.render(page=page, times=Times.of(page.thinks_ms))


@dataclass(frozen=True, slots=True)
class Times:
    """How long answers took."""

    answers: int
    median_ms: int
    longest_ms: int
    bins: Sequence[Bin]

    @classmethod
    def of(cls, sorted_ms: Sequence[int]) -> Times | None:
        """The summary; None if there is no answer."""
        if not sorted_ms:
            return None
        return cls(len(sorted_ms), median_low(sorted_ms), sorted_ms[-1], binned(sorted_ms))

    @property
    def histogram(self) -> Markup:
        """The chart."""
        return _svg(histogram_svg(self.bins))


def verdicts_of(evidence: Evidence) -> Sequence[VerdictFound]:
    """The verdicts that games ended with, the most frequent first."""
    found: dict[tuple[Verdict, str | None], list[tuple[GamePlayed, Mishap]]] = {}
    for match in evidence.matches.values():
        for game in match.games:
            if game.mishap is not None:
                kind = (game.mishap.verdict, game.mishap.limit)
                found.setdefault(kind, []).append((game, game.mishap))
    all_found = [_verdict_found(kind, games) for kind, games in found.items()]
    return sorted(all_found, key=lambda one: -one.count)


def _verdict_found(
    kind: tuple[Verdict, str | None], games: Sequence[tuple[GamePlayed, Mishap]]
) -> VerdictFound:
    details = {
        mishap.detail: (game.game, mishap.phase, mishap.detail) for game, mishap in reversed(games)
    }
    examples = tuple(reversed(details.values()))[:EXAMPLES]
    return VerdictFound(*kind, len(games), games[0][1].fix, examples)


def steps_of(steps: Iterable[StepResult], status: StepStatus) -> Sequence[StepsFound]:
    """The steps with a status, those together of which the same is said."""
    found: dict[tuple[str, str], list[StepResult]] = {}
    for step in steps:
        if step.status == status:
            found.setdefault((step.told, step.hint), []).append(step)
    return [StepsFound(tuple(alike)) for alike in found.values()]


def match_shown(match: Match) -> MatchShown:
    """A row of the table."""
    games = match.games
    score = sum(game.score for game in games) / len(games) if games else 0.0
    mishaps = sum(game.mishap is not None for game in games)
    return MatchShown(match.opponent, len(games), score, mishaps, match.problem or match.cut)


def _game_shown(game: GamePlayed, records: Mapping[str, str]) -> GameShown:
    others = tuple(name for at, name in enumerate(game.players) if at != game.seat)
    return GameShown(game, others, _ending(game), game.mishap, embedded(records[game.game]))


def _ending(game: GamePlayed) -> str:
    """How a game was lost, in short."""
    if game.mishap is not None:
        return f"out, {game.mishap.verdict.value.replace('_', ' ')}"
    own = game.fish.get(game.players[game.seat], 0)
    return f"lost with {own} fish, {-lead(game)} behind"


def _svg(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - charts of ours, of numbers alone
