"""What a rubric says: the game, what a program may use, and what points are given and taken for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from croupier_common.board_spec import BoardSpec
from croupier_common.rules import FISH, Rules
from croupier_common.verdict import Verdict
from croupier_server.grading.limits import BUILD_LIMITS, PLAY_LIMITS, Limits
from croupier_server.grading.rubric_lines import Beats, Conformance, FinishedGames, Line
from croupier_server.settings import Clocks

if TYPE_CHECKING:
    from croupier_server.grading.evidence import GamePlayed, Match
    from croupier_server.tournament.sequential import SequentialTest

__all__ = [
    "CAUSES",
    "Cap",
    "Cause",
    "Deductions",
    "GameSetup",
    "Hidden",
    "MatchNeed",
    "Robin",
    "Rubric",
    "block_scores",
    "games_in_order",
]

Hidden = Literal["hidden", "after_due_date", "after_published"]
"""When students see the lines that are not public, in Gradescope's words."""

Cause = Literal["not built", "conformance failed", "verdicts"]

CAUSES: Final[tuple[Cause, ...]] = ("not built", "conformance failed", "verdicts")

KEY: Final = 1
"""Goes up when evidence from before is not to be used any more."""


@dataclass(frozen=True, slots=True)
class GameSetup:
    """Which game is played, on which boards, by how many; all but the submission are the house."""

    players: int = 2
    rules: Rules = FISH
    board_spec: BoardSpec = field(default_factory=BoardSpec)


@dataclass(frozen=True, slots=True)
class Robin:
    """A round robin among the submissions, in which each pair plays so many blocks."""

    blocks: int = 1


@dataclass(frozen=True, slots=True)
class Deductions:
    """What is taken off for verdicts.

    Attributes:
        each: by verdict, for each game that ended with it.
        most: in all; None for any number of points.
    """

    each: Mapping[Verdict, float] = field(default_factory=dict[Verdict, float])
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Cap:
    """What there is at most, if something is the case.

    Attributes:
        most: points, or hundredths of all points.
        games: how many games must have ended with a verdict, where `when` is ``verdicts``.
    """

    when: Cause
    most: float
    is_percent: bool = False
    games: int = 1

    def points(self, of: float) -> float:
        """The most, where there are so many points in all."""
        return round(of * self.most / 100, 2) if self.is_percent else self.most


@dataclass(frozen=True, slots=True)
class MatchNeed:
    """What has to be played against one house player.

    Attributes:
        level: its strategy.
        games: at least so many games.
        tests: and blocks until each of these is over.
        max_mishaps: but no more once so many games ended with a verdict on the submission.
        players: of a game, and so the games of a block.
    """

    level: str
    games: int
    tests: tuple[SequentialTest, ...]
    max_mishaps: int
    players: int = 2

    def is_met(self, match: Match) -> bool:
        """Whether no further block is needed."""
        if match.cut or match.problem or self.is_given_up(match):
            return True
        scores = block_scores(match, self.players)
        return len(match.games) >= self.games and all(
            test.state(scores).is_over for test in self.tests
        )

    def is_given_up(self, match: Match) -> bool:
        """Whether too many games ended with a verdict: the rest counts as lost."""
        return sum(game.mishap is not None for game in match.games) >= self.max_mishaps


@dataclass(frozen=True, slots=True)
class Rubric:
    """A rubric.

    Attributes:
        seed: decides all boards; drawn where it is None.
        limits, build_limits: of a program that plays, and of one that builds.
        max_mishaps: a match is given up once so many of its games ended with a verdict.
        hidden: when students see the lines that are not public.
    """

    title: str
    lines: tuple[Line, ...]
    seed: int | None = None
    game: GameSetup = field(default_factory=GameSetup)
    clocks: Clocks = field(default_factory=Clocks)
    limits: Limits = PLAY_LIMITS
    build_limits: Limits = BUILD_LIMITS
    deductions: Deductions = field(default_factory=Deductions)
    caps: tuple[Cap, ...] = ()
    robin: Robin | None = None
    max_mishaps: int = 3
    hidden: Hidden = "hidden"

    def matches(self) -> Sequence[MatchNeed]:
        """What is played against the house, by level, in the order in which lines name them."""
        lines = [line for line in self.lines if isinstance(line, FinishedGames | Beats)]
        return [self._need(level, lines) for level in dict.fromkeys(one.against for one in lines)]

    def _need(self, level: str, lines: Sequence[FinishedGames | Beats]) -> MatchNeed:
        mine = [line for line in lines if line.against == level]
        games = max((one.count for one in mine if isinstance(one, FinishedGames)), default=0)
        tests = dict.fromkeys(one.test for one in mine if isinstance(one, Beats))
        return MatchNeed(level, games, tuple(tests), self.max_mishaps, self.game.players)

    @property
    def wants_check(self) -> bool:
        """Whether anything hangs on the conformance check."""
        return any(isinstance(line, Conformance) for line in self.lines) or any(
            cap.when == "conformance failed" for cap in self.caps
        )

    def evidence_key(self) -> str:
        """The same, as hex digits, for rubrics that ask for the same evidence.

        Points, titles and what students may see do not matter.
        """
        asked: dict[str, Any] = {
            "key": KEY,
            "seed": self.seed,
            "game": _game_json(self.game),
            "clocks": self.clocks.model_dump(mode="json"),
            "limits": [asdict(self.limits), asdict(self.build_limits)],
            "check": self.wants_check,
            "matches": sorted((asdict(need) for need in self.matches()), key=_level),
            "robin": None if self.robin is None else self.robin.blocks,
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def public(self) -> Rubric:
        """The part that students may have: no hidden lines, and another seed for their boards."""
        lines = tuple(line for line in self.lines if line.public)
        has_place = any(line.kind == "place" for line in lines)
        return replace(self, lines=lines, seed=None, robin=self.robin if has_place else None)


def games_in_order(match: Match) -> list[GamePlayed]:
    """The games by block and seat, in whatever order they were noted."""
    blocks = sorted(match.blocks, key=lambda block: block.number)
    return [
        game
        for block in blocks
        for game in sorted(block.games, key=lambda game: (game.seat, game.game))
    ]


def block_scores(match: Match, players: int) -> list[float]:
    """The mean score of each block by its number; a game that is missing in one counts as lost."""
    return [
        sum(sorted(game.score for game in block.games)) / max(players, len(block.games))
        for block in sorted(match.blocks, key=lambda block: block.number)
    ]


def _game_json(game: GameSetup) -> dict[str, Any]:
    return {
        "players": game.players,
        "rules": game.rules.to_json(),
        "board": game.board_spec.to_json(),
    }


def _level(need: dict[str, Any]) -> str:
    return str(need["level"])
