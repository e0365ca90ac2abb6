"""Submissions as a grading finds them: evidence with games that were played, and their records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from croupier_common.board_spec import BoardSpec
from croupier_server.grading.evidence import (
    BlockPlayed,
    Built,
    Checked,
    Evidence,
    GamePlayed,
    Intake,
    Match,
    Mishap,
    Placing,
    StepResult,
)
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.rubric import Rubric, load_rubric
from croupier_server.grading.scoring import grade
from support.recorded import recorded

__all__ = [
    "HIDDEN_GREEDY",
    "HOSTILE",
    "RUBRIC",
    "a_match",
    "a_rubric",
    "a_submission",
    "graded_by",
    "records_of",
]

HOSTILE = "</script><script>alert(1)</script>\u202eevil"

RUBRIC = """
title = "Fish 101"

[[line]]
id = "builds"
title = "It builds"
kind = "builds"
points = 10

[[line]]
id = "protocol"
title = "It speaks the protocol"
kind = "conformance"
points = 20

[[line]]
id = "games"
title = "It ends games against random"
kind = "games"
points = 30
against = "random"
count = 4

[[line]]
id = "greedy"
title = "It beats greedy"
kind = "beats"
points = 40
against = "greedy"
max_blocks = 4

[deductions]
timeout = 2
"""
HIDDEN_GREEDY = RUBRIC.replace("max_blocks = 4", "max_blocks = 4\npublic = false")
BOARD = BoardSpec.from_text("4x4")
_RECORDS: dict[tuple[int, tuple[str, str], bool], Sequence[str]] = {}


def a_rubric(folder: Path, text: str = RUBRIC) -> Rubric:
    """The rubric in a text."""
    path = folder / "rubric.toml"
    path.write_text(text, encoding="utf-8")
    return load_rubric(path)


def a_match(
    player: str, opponent: str, blocks: int = 2, *, seed: int = 1, mishaps: Sequence[Mishap] = ()
) -> Match:
    """A match that was played at random; its first games end with the given mishaps."""
    random, left = Random(f"{seed} {player} {opponent}"), list(mishaps)
    played: list[BlockPlayed] = []
    for number in range(1, blocks + 1):
        games: list[GamePlayed] = []
        for turn in (1, 2):
            names = (player, opponent) if turn == 1 else (opponent, player)
            game = _game(f"{opponent}.{number}.{turn}", names, turn - 1, random)
            if left:  # the records of these have an ejection
                game = replace(game, score=0.0, fish={opponent: 9}, mishap=left.pop(0))
            games.append(game)
        played.append(BlockPlayed(number, number, tuple(games)))
    return Match(opponent, tuple(played), took_s=2.0, games_s=1.9)


def _game(name: str, names: tuple[str, str], seat: int, random: Random) -> GamePlayed:
    lines = _lines(name, names)
    outcome = json.loads(lines[-1])["event"]["outcome"]
    fish = {names[at]: outcome["fish"][color] for at, color in enumerate(("red", "white"))}
    own, other = fish[names[seat]], fish[names[1 - seat]]
    return GamePlayed(
        game=name,
        seat=seat,
        players=names,
        score=0.5 + (own > other) / 2 - (own < other) / 2,
        plies=len(lines) - 2,
        fish=fish,
        record=f"records/{name}.jsonl",
        thinks_ms=tuple(random.choice((2, 5, 8, 14, 40, 180)) for _ in range(6)),
    )


def _lines(name: str, names: tuple[str, str], *, has_ejection: bool = False) -> Sequence[str]:
    key = (sum(map(ord, name)), names, has_ejection)
    if key not in _RECORDS:
        chance = 0.3 if has_ejection else 0.0
        _RECORDS[key] = recorded(key[0], BOARD, names=names, ejections=chance)
    return _RECORDS[key]


def records_of(evidence: Evidence) -> dict[str, str]:
    """The records of all games, by their ids."""
    games = [game for match in evidence.matches.values() for game in match.games]
    return {game.game: "".join(_record(game)) for game in games}


def _record(game: GamePlayed) -> Sequence[str]:
    names = (game.players[0], game.players[1])
    return _lines(game.game, names, has_ejection=game.mishap is not None)


def a_submission(
    name: str,
    *,
    matches: Sequence[Match] = (),
    failing: Sequence[str] = (),
    built: Built | None = None,
    placing: Placing | None = None,
    problem: str = "",
    player: str = "",
) -> Evidence:
    """What was found out of a submission whose check failed at some steps."""
    steps = [
        StepResult(step, group, f"About {step}.", "fail" if step in failing else "pass")
        for group, step in (("joining", "connects"), ("joining", "join"), ("messages", "ids"))
    ]
    told = [
        replace(one, told="It said so.", hint="Mend it.") if one.status == "fail" else one
        for one in steps
    ]
    return Evidence(
        Intake(name, player or name, f"{name}.zip", problem, digest="0" * 64),
        built or Built("none"),
        Checked(tuple(told), took_s=1.0),
        {match.opponent: match for match in matches},
        placing,
    )


def graded_by(rubric: Rubric, evidence: Evidence) -> Graded:
    """The evidence with its grade."""
    return Graded(grade(rubric, evidence), evidence)
