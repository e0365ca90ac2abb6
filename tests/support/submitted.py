"""Submissions made of scripted players, rubrics for them, and what grading them needs."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from croupier_server.gateway.house_seat import HousePool
from croupier_server.grading.evidence import Intake
from croupier_server.grading.isolation.choice import choose
from croupier_server.grading.isolation.model import Isolation
from croupier_server.grading.manifest import Manifest
from croupier_server.grading.matches_table import Boards
from croupier_server.grading.rubric import Rubric, load_rubric
from croupier_server.grading.slots import Slots
from croupier_server.grading.stages import Referee
from croupier_server.grading.store import Store
from croupier_server.grading.submission import Submission
from croupier_server.heartbeat import Heartbeat
from croupier_server.settings import Settings
from support.stdio import PLAYER

SEED = 11

HEAD = """
title = "Trial"
seed = 11
[game]
board = "4x4,fish=1-3"
players = {players}
[clocks]
join_ms = 5000
start_ms = 2000
place_ms = 500
move_ms = 500
ack_ms = 500
"""

GAMES = """
[[line]]
id = "games-{against}"
title = "It plays to the end"
kind = "games"
against = "{against}"
count = {count}
points = 10
"""

BUILDS = """
[[line]]
id = "builds"
title = "It builds"
kind = "builds"
points = 10
"""

PLACE = """
[robin]
blocks = 1
[[line]]
id = "place"
title = "It comes far"
kind = "place"
points = 10
"""


def rubric_text(*lines: str, players: int = 2) -> str:
    return HEAD.format(players=players) + BUILDS + "".join(lines)


def games(count: int = 2, against: str = "first") -> str:
    return GAMES.format(count=count, against=against)


def rubric_of(folder: Path, *lines: str, players: int = 2) -> Rubric:
    path = folder / "rubric.toml"
    path.write_text(rubric_text(*(lines or (games(),)), players=players), encoding="utf-8")
    return load_rubric(path)


def hand_in(folder: Path, name: str, *switches: str, build: str = "", player: str = "") -> Path:
    """Put a submission into a folder: the scripted player with its switches."""
    place = folder / name
    place.mkdir(parents=True)
    shutil.copy(PLAYER, place / "player.py")
    command = ["python3", "-I", "-S", "player.py", *switches]
    told = f'name = "{player or name}"\ncommand = {command!r}\n'
    if build:
        told += f'build = """{build}"""\n'
    (place / "player.toml").write_text(told, encoding="utf-8")
    return place


def submission(folder: Path, name: str, *switches: str, player: str = "") -> Submission:
    """The same, as it is taken in."""
    place = hand_in(folder, name, *switches)
    command = ("python3", "-I", "-S", "player.py", *switches)
    manifest = Manifest(player or name, command)
    intake = Intake(name, manifest.name, name, digest=f"of {name} {switches}")
    return Submission(intake, place, manifest)


def built_by(found: Submission, *commands: Sequence[str]) -> Submission:
    """The same with something to build."""
    assert found.manifest is not None
    return replace(found, manifest=replace(found.manifest, build=tuple(map(tuple, commands))))


@asynccontextmanager
async def refereed(
    rubric: Rubric,
    out: Path,
    pool: HousePool,
    *,
    isolation: Isolation | None = None,
    slots: int = 1,
) -> AsyncGenerator[Referee]:
    """What submissions are judged with; the pool is not closed."""
    store = Store(out)
    store.make()
    heartbeat = Heartbeat()
    heartbeat.start()
    game = rubric.game
    try:
        yield Referee(
            rubric,
            Boards(game.rules, game.board_spec, game.players, SEED),
            Settings.model_construct(clocks=rubric.clocks),
            isolation or choose("same-user"),
            store,
            Slots(slots),
            pool,
            heartbeat.meter,
        )
    finally:
        heartbeat.stop()
