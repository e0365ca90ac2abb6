"""What is found out of a submission, as values that are kept; no points yet.

Each stage leaves one of these. They go to files as JSON and come back equal, so that a grading that
was cut off goes on with what it had, and a grade can be made again, or explained, without a game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from croupier_common.verdict import Verdict

__all__ = [
    "FAULT",
    "BlockPlayed",
    "Built",
    "Checked",
    "Evidence",
    "GamePlayed",
    "Intake",
    "Match",
    "Mishap",
    "Placing",
    "StepResult",
    "StepStatus",
]

FAULT: Final = "a fault of the grader's, not yours: its operator has been told, and can go on"
"""The problem of a submission that is not its own."""

StepStatus = Literal["pass", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Intake:
    """How a submission was taken in.

    Attributes:
        name: what it is called in tables and folders: made of its file's name; like no other's.
        player: the player's own name, as its file says.
        source: the file or folder that it came in, without the folders above.
        problem: why nothing can be done with it, in one line for the student; empty if it can.
        notes: what is odd and harmless: a folder that was entered, line ends that were mended.
        digest: of all that was taken in, as hex digits; equal for equal submissions.
    """

    name: str
    player: str
    source: str
    problem: str = ""
    notes: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Built:
    """How it was built.

    Attributes:
        status: ``none``: nothing had to be built.
        detail: why it failed, in one line.
        output: the end of what the build wrote.
        took_s: how long it took.
    """

    status: Literal["ok", "failed", "none"]
    detail: str = ""
    output: str = ""
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step of the conformance check: see `penguin check`."""

    step: str
    group: str
    about: str
    status: StepStatus
    told: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What the conformance check found.

    Attributes:
        problem: why there was no check, in one line; empty if there was.
    """

    steps: tuple[StepResult, ...] = ()
    problem: str = ""
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Mishap:
    """A game that the submission lost by its own fault.

    Attributes:
        detail: what happened, in words for the student.
        fix: one sentence on what to do about it.
        limit: the limit that it crossed, if that is why; see
            :class:`~croupier_server.grading.isolation.model.Report`.
    """

    verdict: Verdict
    phase: str
    detail: str
    fix: str
    limit: str | None = None


@dataclass(frozen=True, slots=True)
class GamePlayed:
    """A game of a submission.

    Attributes:
        game: its id, like no other's of the submission: ``greedy.3.1``.
        seat: of the submission, from 0.
        players: names in turn order.
        score: the submission's, from 0 to 1.
        fish: by name, of those that were not put out.
        record: the record's file, below the submission's folder of results; empty if there is none.
        thinks_ms: how long the submission thought in each of its turns.
        mishap: why it was put out, if it was.
    """

    game: str
    seat: int
    players: tuple[str, ...]
    score: float
    plies: int
    fish: Mapping[str, int] = field(default_factory=dict[str, int])
    record: str = ""
    thinks_ms: tuple[int, ...] = ()
    mishap: Mishap | None = None


@dataclass(frozen=True, slots=True)
class BlockPlayed:
    """The games on one board, in all rotations of the seats.

    Attributes:
        seed: of the board.
    """

    number: int
    seed: int
    games: tuple[GamePlayed, ...]

    @property
    def score(self) -> float:
        """The submission's mean score, from 0 to 1."""
        return sum(game.score for game in self.games) / len(self.games)


@dataclass(frozen=True, slots=True)
class Match:
    """The blocks against one opponent.

    Attributes:
        opponent: the house player's strategy, or the name of another submission.
        cut: why it was ended before its time, in one line: "3 games ended with a verdict".
        problem: why not a game was played, in one line; empty if one was.
        took_s: how long it took, of which
        games_s: so much was spent in games.
    """

    opponent: str
    blocks: tuple[BlockPlayed, ...] = ()
    cut: str = ""
    problem: str = ""
    took_s: float = 0.0
    games_s: float = 0.0

    @property
    def games(self) -> Sequence[GamePlayed]:
        """All games, in order."""
        return [game for block in self.blocks for game in block.games]

    @property
    def scores(self) -> tuple[float, ...]:
        """The mean score of each block, in order."""
        return tuple(block.score for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Placing:
    """Where it came in the round robin among the submissions.

    Attributes:
        place: from 1; equal for those who are equal.
        of: how many took part.
        score: its mean, from 0 to 1.
    """

    place: int
    of: int
    score: float
    games: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that was found out of one submission; what was not reached, or not asked, is None."""

    intake: Intake
    built: Built | None = None
    checked: Checked | None = None
    matches: Mapping[str, Match] = field(default_factory=dict[str, Match])
    placing: Placing | None = None
