"""Games that were played at random, and their records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from sqlalchemy import Connection

from croupier_common.board import Board
from croupier_common.board_spec import BoardSpec
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.record import Header, RecordWriter, Seat
from croupier_common.rules import Rules
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.storage import catalogue
from croupier_server.storage.once import own_once
from croupier_server.tournament.model import Pairing, Result

__all__ = ["CLASSIC_BOARD", "keep_games", "recorded"]

CLASSIC_BOARD = BoardSpec.from_text("classic")


def recorded(
    seed: int,
    board: Board | BoardSpec,
    players: int = 2,
    rules: Rules | None = None,
    *,
    names: Sequence[str] = ("Ada", "Blaise", "Carl", "Dana"),
    absent: Sequence[Color] = (),
    ejections: float = 0.0,
    plies: int = 10**6,
    finish: bool = True,
) -> list[str]:
    """The lines of a record, each with its newline.

    Args:
        absent: who did not answer at the start.
        ejections: the chance that somebody is ejected instead of a ply.
        plies: how many are played at most; what is left is interrupted.
        finish: whether such a game gets its footer.
    """
    random = Random(seed)
    lines: list[str] = []
    writer = RecordWriter(lines.append)
    rules = rules or Rules()
    colors = list(Color)[:players]
    spec = board if isinstance(board, BoardSpec) else None
    if isinstance(board, BoardSpec):
        board = board.build(seed, rules=rules, players=players)
    seats = tuple(Seat(name, color) for name, color in zip(names, colors, strict=False))
    writer.header(Header("1.1", board, rules, seats, seed, spec), {"time_ms": 1})
    game = Game("1.1", board, colors, rules)
    faults = {c: Fault(Verdict.NO_START, Phase.GAME_START, "silent") for c in absent}
    happened = game.begin(faults)
    while True:
        for numbered in happened:
            think_ms = random.randrange(900)
            writer.event(numbered.event, {"t_ms": 40 * numbered.seq, "think_ms": think_ms})
        request = game.request
        plies -= 1
        if request is None or plies < 0:
            break
        if random.random() < ejections:
            left = [player.color for player in request.state.active]
            fault = Fault(Verdict.TIMEOUT, request.phase, "too late")
            happened = game.fault(random.choice(left), fault)
        else:
            happened = game.act(random.choice(list(request.state.legal_actions)))
    if game.request is not None and finish:
        writer.interrupted("the server stopped")
    return lines


def keep_games(where: Path, *games: Sequence[str], name: str = "cup") -> None:
    """Put a tournament with such games into a data directory: 1.1, 1.2 and so on.

    A record without a footer is that of a game that still runs.
    """

    def work(connection: Connection) -> None:
        row = catalogue.create_tournament(connection, name, "round-robin", 7, {})
        catalogue.set_status(connection, row.id, "running")
        known: set[str] = set()
        for number, lines in enumerate(games, 1):
            players = [one["name"] for one in json.loads(lines[0])["event"]["players"]]
            for player in sorted({*players} - known):
                catalogue.add_entrant(connection, row.id, player, "remote", session="s3cret-hash")
            known |= {*players}
            _keep(connection, row.id, f"1.{number}", tuple(players), lines)

    with ThreadPoolExecutor(1) as thread:  # beside a browser, whose loop is in this one
        thread.submit(own_once, where, work).result()


def _keep(
    connection: Connection,
    tournament: int,
    name: str,
    players: tuple[str, ...],
    lines: Sequence[str],
) -> None:
    (pairing,) = catalogue.issue(connection, tournament, [Pairing(name, players, 1, name)])
    game = catalogue.begin_game(connection, pairing.id, 1, name, 7, lines[0])
    rest = list(enumerate(lines))[1:]
    end = json.loads(lines[-1])
    if end["event"]["kind"] == "end":
        result = Result(name, name, 1, players, ranking=tuple((player,) for player in players))
        catalogue.finish_game(
            connection, game.id, rest, chain=end["chain"], plies=len(rest), result=result
        )
    elif end["event"]["kind"] == "interrupted":
        catalogue.interrupt_game(connection, game.id, rest, end["chain"])
    else:
        catalogue.append_lines(connection, game.id, rest)
