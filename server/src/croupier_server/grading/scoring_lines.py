"""What part of a line's points a submission gets, and why: pure, from what was found out.

Nobody gets points for what did not happen: a stage that was not reached gives none, and what is
missing of a match counts as lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, repeat
from typing import Final

from croupier_common.render import printable
from croupier_server.grading.evidence import FAULT, Checked, Evidence, GamePlayed, Match, StepResult
from croupier_server.grading.rubric_lines import (
    Beats,
    Builds,
    Conformance,
    FinishedGames,
    Line,
    PlaceLine,
    ThinkTime,
)
from croupier_server.grading.rubric_model import Rubric, block_scores, games_in_order
from croupier_server.grading.rubric_steps import MAY_BE_SKIPPED

__all__ = ["Share", "counted", "levels_of", "percent", "percentile", "share_of", "why_not_built"]

MOST_TOLD: Final = 8
"""How many steps are told apart that failed."""

WIDTH: Final = 300
"""How much is shown of a text that comes from a program."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a line's points, from 0 to 1, with reasons as sentences."""

    part: Fraction
    reasons: tuple[str, ...]

    @classmethod
    def none(cls, *reasons: str) -> Share:
        """Nothing, and why."""
        return cls(Fraction(0), reasons)


def share_of(line: Line, rubric: Rubric, evidence: Evidence) -> Share:
    """What part of a line's points there is."""
    match line:
        case Builds():
            return _built(evidence)
        case Conformance():
            return _checked(line, evidence)
        case FinishedGames():
            return _finished(line, rubric, evidence)
        case Beats():
            return _beaten(line, rubric, evidence)
        case PlaceLine():
            return _placed(line, evidence)
        case ThinkTime():
            return _thought(line, rubric, evidence)


def levels_of(line: Line, rubric: Rubric) -> tuple[str, ...]:
    """The house players whose games a line looks at."""
    match line:
        case FinishedGames() | Beats() | ThinkTime() if line.against:
            return (line.against,)
        case ThinkTime():
            return tuple(need.level for need in rubric.matches())
        case _:
            return ()


def percent(share: float | Fraction) -> str:
    """A share as a sentence has it: ``71.4 %``, ``50 %``."""
    return f"{100 * float(share):.1f}".removesuffix(".0") + " %"


def percentile(values: Iterable[int], rank: int) -> int | None:
    """The least value that so many of a hundred do not exceed (nearest rank); None without any."""
    found = sorted(values)
    return found[max(0, -(-rank * len(found) // 100) - 1)] if found else None


# -- building


def why_not_built(evidence: Evidence) -> str:
    """Why there is nothing that could play, as a sentence; empty if there is."""
    if evidence.intake.problem == FAULT:
        return FAULT
    if evidence.intake.problem:
        return f"it could not be taken in: {_said(evidence.intake.problem)}"
    if evidence.built is None:
        return "it was not built: the grading did not get so far"
    if evidence.built.status == "failed":
        return f"it did not build: {_said(evidence.built.detail) or 'no reason is known'}"
    return ""


def _built(evidence: Evidence) -> Share:
    if problem := why_not_built(evidence):
        return Share.none(problem)
    is_none = evidence.built is not None and evidence.built.status == "none"
    return Share(Fraction(1), ("there is nothing to build" if is_none else "it builds",))


# -- the conformance check


def _checked(line: Conformance, evidence: Evidence) -> Share:
    checked = evidence.checked
    if checked is None:
        return Share.none(why_not_built(evidence) or "the conformance check was not reached")
    if checked.problem:
        return Share.none(f"there was no conformance check: {_said(checked.problem)}")
    steps = list(_counting(line, checked))
    if not steps:
        return Share.none("none of the steps applies to it")
    passed = sum(step.status in {"pass", "warn"} for step in steps)
    told = f"{passed} of {counted(len(steps), 'step')} passed"
    if line.required == "all":
        told += ", all are needed"
    is_enough = line.required == "each" or passed == len(steps)
    part = Fraction(passed, len(steps)) if is_enough else Fraction(0)
    return Share(part, (told, *_failed_steps(steps)))


def _counting(line: Conformance, checked: Checked) -> Iterator[StepResult]:
    """A result for each step that counts; what is not there, or was given up, has failed."""
    found = {result.step: result for result in checked.steps}
    for step in line.wanted:
        result = found.get(step) or StepResult(step, "", "", "skip", "the check did not get so far")
        if result.status != "skip" or step not in MAY_BE_SKIPPED:
            yield result


def _failed_steps(steps: Sequence[StepResult]) -> Iterator[str]:
    failed = [step for step in steps if step.status not in {"pass", "warn"}]
    for step in failed[:MOST_TOLD]:
        hint = f"; what to do: {_said(step.hint)}" if step.hint else ""
        word = "failed" if step.status == "fail" else "not reached"
        yield f"{step.step} {word}: {_said(step.told) or 'no reason is known'}{hint}"
    if len(failed) > MOST_TOLD:
        yield f"and {len(failed) - MOST_TOLD} more"


# -- games


def _finished(line: FinishedGames, rubric: Rubric, evidence: Evidence) -> Share:
    found = evidence.matches.get(line.against)
    if found is None or not found.games:
        return Share.none(_no_games(line.against, found, evidence))
    games = games_in_order(found)[: line.count]
    clean = sum(game.mishap is None for game in games)
    told = (
        f"{clean} of {counted(line.count, 'game')} against {line.against} ended without a verdict"
    )
    missing: tuple[str, ...] = ()
    if len(games) < line.count:
        rest = counted(line.count - len(games), "game")
        missing = (f"{rest} not played{_after(found, rubric)}",)
    return Share(Fraction(clean, line.count), (told, *_mishaps(games), *missing))


def _mishaps(games: Sequence[GamePlayed]) -> Iterator[str]:
    """A sentence for each verdict: in how many games, and the first one's detail."""
    found = [game.mishap for game in games if game.mishap is not None]
    counts = Counter(mishap.verdict for mishap in found)
    for verdict in sorted(counts):
        first = next(mishap for mishap in found if mishap.verdict is verdict)
        told = f"{verdict} in {counted(counts[verdict], 'game')}"
        yield f"{told}: {_said(first.detail)}. What to do: {_said(first.fix or verdict.fix)}"


def _beaten(line: Beats, rubric: Rubric, evidence: Evidence) -> Share:
    found = evidence.matches.get(line.against)
    if found is None or not found.games:
        return Share.none(_no_games(line.against, found, evidence))
    test, scores = line.test, block_scores(found, rubric.game.players)
    state = test.state(scores)
    needed = f"needed more than {percent(line.score0)} with {percent(line.confidence)} confidence"
    games = _games_of(found, state.blocks)
    after = f"after {counted(state.blocks, 'block')} ({counted(games, 'game')})"
    mean = percent(state.mean or 0)
    if state.outcome == "accept":
        return Share(Fraction(1), (f"beat {line.against}: {mean} {after}, {needed}",))
    told = f"did not beat {line.against}: {mean} {after}, {needed}"
    if state.outcome == "undecided":
        told = f"not shown either way against {line.against} {after}: {mean}, {needed}"
    elif state.outcome == "continue":
        # what was not played is lost, so that ending early can never pay
        state = test.state(chain(scores, repeat(0.0, line.max_blocks)))
        told = (
            f"not shown against {line.against}: {mean} {after}, {needed}; no more was played"
            f"{_after(found, rubric)}, and the rest counts as lost"
        )
    return _partial(line, state.mean or 0.0, told)


def _games_of(found: Match, blocks: int) -> int:
    """How many games the first blocks have."""
    first = sorted(found.blocks, key=lambda block: block.number)[:blocks]
    return sum(len(block.games) for block in first)


def _partial(line: Beats, mean: float, told: str) -> Share:
    reached = [(least, share) for least, share in line.partial if mean >= least]
    if not reached:
        return Share.none(told)
    least, share = reached[-1]
    partly = f"partial credit: {percent(share)} of the points for at least {percent(least)}"
    return Share(Fraction(str(share)), (told, partly))


def _no_games(level: str, found: Match | None, evidence: Evidence) -> str:
    if found is not None and found.problem:
        return f"no game was played against {level}: {_said(found.problem)}"
    why = why_not_built(evidence)
    return why or f"no game was played against {level}: the grading did not get so far"


def _after(found: Match, rubric: Rubric) -> str:
    """Why a match ended before its time."""
    mishaps = sum(game.mishap is not None for game in found.games)
    if mishaps >= rubric.max_mishaps:
        return f" after {counted(mishaps, 'game')} with a verdict"
    return f": {_said(found.cut or found.problem)}" if found.cut or found.problem else ""


# -- the round robin, and thinking


def _placed(line: PlaceLine, evidence: Evidence) -> Share:
    placing = evidence.placing
    if placing is None:
        return Share.none(why_not_built(evidence) or "it took no part in the round robin")
    if placing.of < 2 or not placing.games:
        return Share.none("there was nobody to play against in the round robin")
    lost = (1 - Fraction(str(line.last))) * Fraction(placing.place - 1, placing.of - 1)
    told = f"place {placing.place} of {placing.of} in the round robin, with a mean score of "
    return Share(1 - min(lost, Fraction(1)), (f"{told}{percent(placing.score)}",))


def _thought(line: ThinkTime, rubric: Rubric, evidence: Evidence) -> Share:
    levels = levels_of(line, rubric)
    found = [evidence.matches[level] for level in levels if level in evidence.matches]
    times = [time for one in found for game in one.games for time in game.thinks_ms]
    took = percentile(times, line.percentile)
    if took is None:
        return Share.none(why_not_built(evidence) or "it had no turn in which it could think")
    name = "median" if line.percentile == 50 else f"{line.percentile} of 100"
    is_below = took < line.below_ms
    told = f"think time ({name}) {took} ms in {counted(len(times), 'turn')}"
    wanted = f"{'below' if is_below else 'not below'} {line.below_ms} ms"
    return Share(Fraction(is_below), (f"{told}, {wanted}",))


def _said(text: str) -> str:
    """What somebody else says: one line, cut, without a full stop that we add ourselves."""
    return printable(" ".join(text.split()), WIDTH).rstrip(".")


def counted(number: float, noun: str) -> str:
    """A number of things: ``1 game``, ``2 games``."""
    return f"{number:g} {noun}" + ("" if number == 1 else "s")
