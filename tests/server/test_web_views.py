"""Tournaments that are brought up to date are those that are read anew, whatever happened."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from sqlalchemy import Connection

from croupier_server.commands.progress_of import left
from croupier_server.commands.view import View
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.model import Pairing, Result
from croupier_server.web.views import Views


class Cup:
    """A tournament to which things happen by lot."""

    def __init__(self, seed: int) -> None:
        self._lot = Random(seed)
        self._rounds = 0

    def begin(self, connection: Connection) -> None:
        row = catalogue.create_tournament(connection, "cup", "swiss", 7, {})
        for name in "abcdef":
            catalogue.add_entrant(connection, row.id, name, "remote")
        catalogue.set_status(connection, row.id, "running")
        self.pair(connection)

    def step(self, connection: Connection) -> None:
        """Something happens; what often does is likelier."""
        often = [self.play, self.start, self.finish, self.finish]
        self._lot.choice([*often, self.pair, self.interrupt, self.reopen, self.void, self.join])(
            connection
        )

    def pair(self, connection: Connection) -> None:
        self._rounds += 1
        names = self._lot.sample("abcdef", 6)
        pairs = enumerate(zip(names[::2], names[1::2], strict=True), 1)
        of_round = f"{self._rounds}."
        issued = [
            Pairing(f"{of_round}{at}.1", pair, self._rounds, f"{of_round}{at}")
            for at, pair in pairs
        ]
        catalogue.issue(connection, 1, issued)

    def play(self, connection: Connection) -> None:
        """A result without a game."""
        if pairing := self._waiting(connection):
            catalogue.add_result(connection, pairing.id, self._result(pairing))

    def start(self, connection: Connection) -> None:
        if pairing := self._waiting(connection):
            attempt = catalogue.count_attempts(connection, pairing.id) + 1
            catalogue.begin_game(connection, pairing.id, attempt, pairing.game, 1, "{}\n")

    def finish(self, connection: Connection) -> None:
        for game in catalogue.running_games(connection, 1)[:1]:
            [pairing] = [p for p in catalogue.pairings(connection, 1) if p.id == game.pairing_id]
            result = self._result(pairing)
            catalogue.finish_game(connection, game.id, [], chain="", plies=9, result=result)

    def interrupt(self, connection: Connection) -> None:
        for game in catalogue.running_games(connection, 1)[:1]:
            catalogue.interrupt_game(connection, game.id)

    def reopen(self, connection: Connection) -> None:
        if over := list(catalogue.results(connection, 1)):
            pairing = catalogue.find_pairing(connection, 1, self._lot.choice(over))
            assert pairing is not None
            catalogue.reopen(connection, pairing.id)

    def void(self, connection: Connection) -> None:
        """By an order: so that there are as many results as before."""
        if over := list(catalogue.results(connection, 1)):
            pairing = catalogue.find_pairing(connection, 1, self._lot.choice(over))
            assert pairing is not None
            order = catalogue.give_order(connection, 1, "void", pairing.game, by="test")
            result = Result(pairing.game, pairing.block, pairing.round, pairing.players, "void")
            catalogue.void_result(connection, pairing.id, result, "by order")
            catalogue.answer_order(connection, order.id, "done")

    def join(self, connection: Connection) -> None:
        name = f"late {len(catalogue.entrants(connection, 1))}"
        catalogue.add_entrant(connection, 1, name, "remote")

    def _waiting(self, connection: Connection) -> catalogue.PairingRow | None:
        over = catalogue.results(connection, 1)
        running = {game.pairing_id for game in catalogue.running_games(connection, 1)}
        pairings = catalogue.pairings(connection, 1)
        free = [one for one in pairings if one.game not in over and one.id not in running]
        return self._lot.choice(free) if free else None

    def _result(self, pairing: catalogue.PairingRow) -> Result:
        one, other = self._lot.sample(pairing.players, 2)
        return Result(
            pairing.game, pairing.block, pairing.round, pairing.players, ranking=((one,), (other,))
        )


def told(view: View) -> list[object]:
    """All that a view says."""
    rows = [view.row, *view.entrants, *view.pairings, *view.games, *view.orders]
    return [rows, view.results, view.table(), view.cross_table(), left(view)]


@pytest.mark.parametrize("seed", range(4))
async def test_view_that_is_kept_is_that_which_is_read_anew(seed: int) -> None:
    cup, kept = Cup(seed), Views()
    async with await Database.open(None) as database:
        await database.run(cup.begin)
        for _ in range(60):
            await database.run(cup.step)
            one = await database.read(lambda connection: kept.view(connection, "cup"))
            assert one is not None
            other = await database.read(partial(View.of, row=one.row))
            assert told(one) == told(other)
