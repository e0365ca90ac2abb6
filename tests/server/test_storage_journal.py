"""A game's journal: every event before the next turn, its end together with its result."""

from pathlib import Path
from random import Random

from croupier_common.board import Board
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.record import Header, RecordWriter, Seat, read_record, replay
from croupier_common.rules import FISH
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.journal import GameJournal
from croupier_server.tournament.model import Result
from support.databases import where
from support.storage import pairings

__all__ = ["where"]

COLORS = (Color.RED, Color.WHITE)
BOARD = Board.from_json([[1, 2, 3, 1]] * 4)
HEADER = Header("1.1", BOARD, FISH, (Seat("ada", COLORS[0]), Seat("ben", COLORS[1])), 7)
RESULT = Result("1.1", "1.1", 1, ("ada", "ben"), ranking=(("ada",), ("ben",)))


async def play(game: Game, journal: GameJournal, random: Random, plies: int) -> None:
    """Play on at random, up to so many plies."""
    while game.request is not None and plies:
        plies -= 1
        events = game.act(random.choice(list(game.request.state.legal_actions)))
        await journal.write([(event, {"t_ms": event.seq}) for event in events])


async def test_journal_holds_the_end_and_goes_on_after_a_crash(where: Path | str) -> None:
    written: list[str] = []
    writer = RecordWriter(written.append)
    writer.header(HEADER, {})
    line = written.pop()

    async with await Database.open(where) as database:
        cup = await database.run(lambda c: catalogue.create_tournament(c, "cup", "knockout", 7, {}))
        [pairing] = await database.run(
            lambda c: catalogue.issue(c, cup.id, pairings(1, ("ada", "ben")))
        )
        row = await database.run(lambda c: catalogue.begin_game(c, pairing.id, 1, "1.1", 7, line))
        journal = GameJournal(database, row.id, writer, written)
        game = Game("1.1", BOARD, COLORS)
        game.begin()
        await play(game, journal, Random(1), 5)
        chain = journal.chain

    async with await Database.open(where) as database:
        [row] = await database.run(lambda c: catalogue.running_games(c, cup.id))
        lines = await database.run(lambda c: catalogue.lines(c, row.id))
        begun = read_record((line.encode() for line in lines), unfinished=True)
        assert begun.chain == chain
        assert len(lines) == 6
        written = []
        journal = GameJournal(
            database, row.id, RecordWriter.resumed(written.append, begun), written
        )
        await play(game, journal, Random(2), 1_000)
        assert game.outcome is not None
        assert journal.final_lines
        held = await database.run(lambda c: catalogue.lines(c, row.id))
        read_record((line.encode() for line in held), unfinished=True)
        assert len(held) + len(journal.final_lines) == len(game.events) + 1
        await database.run(
            lambda c: catalogue.finish_game(
                *(c, row.id, journal.final_lines),
                chain=journal.chain,
                plies=len(game.events),
                result=RESULT,
            )
        )
        whole = await database.run(lambda c: catalogue.lines(c, row.id))

    record = read_record(line.encode() for line in whole)
    assert record.chain == journal.chain
    assert replay(record).outcome == game.outcome
