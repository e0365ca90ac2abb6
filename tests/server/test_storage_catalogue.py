"""The catalogue: what goes in comes out, whatever the text, and what can't be is refused."""

from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine

from croupier_common.verdict import Verdict
from croupier_server.errors import ServerFault, UserError
from croupier_server.storage import catalogue
from croupier_server.storage.catalogue import Detail
from croupier_server.storage.database import Database
from croupier_server.storage.revision import create
from croupier_server.storage.schema import storable
from croupier_server.tournament.model import Pairing, Result, ResultKind
from support.databases import where
from support.storage import NAMES, begin, pairings

__all__ = ["where"]

HOSTILE = "x\0\ud800'\"; DROP TABLE games; --\u202e\U0001f427%s{}\\"


@contextmanager
def memory() -> Generator[Connection]:
    """A fresh catalogue, without a thread."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys = ON")
        connection.commit()
        create(connection)
        yield connection
    engine.dispose()


@st.composite
def results(draw: st.DrawFn) -> Result:
    """Any result that a format may have to understand."""
    players = tuple(
        draw(st.lists(st.text(min_size=1).map(storable), min_size=1, max_size=4, unique=True))
    )
    kind: ResultKind = draw(st.sampled_from(get_args(ResultKind)))
    left = draw(st.permutations(players))[: draw(st.integers(0, len(players)))]
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(left) - 1)))) | {0, len(left)})
    groups = (tuple(left[a:b]) for a, b in pairwise(cuts))
    scores = st.dictionaries(st.sampled_from(players), st.integers(0, 10_000))
    return Result(
        game=draw(st.text(min_size=1).map(storable)),
        block=draw(st.text().map(storable)),
        round=draw(st.integers(1, 2**40)),
        players=players,
        kind=kind,
        ranking=tuple(group for group in groups if group),
        verdicts=draw(st.dictionaries(st.sampled_from(players), st.sampled_from(list(Verdict)))),
        fish=draw(scores),
        tiles=draw(scores),
    )


def test_results_come_back_as_they_were() -> None:
    with memory() as connection:
        cup = catalogue.create_tournament(connection, "cup", "swiss", 1, {})
        connection.commit()

        @given(st.lists(results(), max_size=5, unique_by=lambda result: result.game))
        @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
        def check(given_results: list[Result]) -> None:
            issued = [Pairing(r.game, r.players, r.round, r.block) for r in given_results]
            rows = catalogue.issue(connection, cup.id, issued)
            assert [row.pairing for row in rows] == issued
            for row, result in zip(rows, given_results, strict=True):
                catalogue.add_result(connection, row.id, result)
            assert catalogue.results(connection, cup.id) == {r.game: r for r in given_results}
            connection.rollback()

        check()


async def test_hostile_text_is_stored_and_breaks_nothing(where: Path | str) -> None:
    shown = storable(HOSTILE)
    assert "\0" not in shown
    shown.encode()

    def work(connection: Connection) -> None:
        cup = catalogue.create_tournament(connection, HOSTILE, "swiss", 2**63 - 1, {"x": HOSTILE})
        assert cup.config == {"x": HOSTILE}
        assert cup.name == shown
        entrant = catalogue.add_entrant(
            connection, cup.id, HOSTILE, "remote", options={HOSTILE: [HOSTILE]}
        )
        assert entrant.options == {HOSTILE: [HOSTILE]}
        assert entrant.name == shown
        catalogue.set_entrant(connection, entrant.id, status="ejected", reason=[HOSTILE])
        assert catalogue.entrants(connection, cup.id)[0].reason == [HOSTILE]
        pairing = Pairing(HOSTILE, (HOSTILE, "ben"), 1, HOSTILE)
        [row] = catalogue.issue(connection, cup.id, [pairing])
        assert row.players == (shown, "ben")
        game = catalogue.begin_game(connection, row.id, 1, HOSTILE, 2**64 - 1, "header\n")
        assert game.seed == 2**64 - 1
        assert catalogue.game_by_name(connection, cup.id, HOSTILE) == game
        result = Result(HOSTILE, HOSTILE, 1, pairing.players, ranking=((HOSTILE,), ("ben",)))
        detail = Detail("movement", HOSTILE, HOSTILE, 1, 1, 1)
        catalogue.finish_game(
            *(connection, game.id, [(1, "end\n")]),
            chain="c",
            plies=0,
            result=result,
            details={HOSTILE: detail},
        )
        found = catalogue.results(connection, cup.id)
        assert found[shown].ranking == ((shown,), ("ben",))
        assert catalogue.details(connection, row.id)[shown].sent == shown
        order = catalogue.give_order(connection, cup.id, "void", HOSTILE, by=HOSTILE)
        assert order.argument == HOSTILE
        catalogue.answer_order(connection, order.id, HOSTILE)
        catalogue.set_ratings(
            connection, cup.id, [catalogue.RatingRow(HOSTILE, 1500.0, 1400.5, 1600.25, 3)]
        )
        assert catalogue.ratings(connection, cup.id)[0].name == shown

    async with await Database.open(where) as database:
        await database.run(work)


async def test_many_pairings_keep_their_order() -> None:
    async with await Database.open(None) as database:
        cup = await database.run(
            lambda c: catalogue.create_tournament(c, "cup", "round_robin", 1, {})
        )
        first, rest = pairings(5_000)[:10], pairings(5_000)[10:]
        await database.run(lambda c: catalogue.issue(c, cup.id, first))
        later = await database.run(lambda c: catalogue.issue(c, cup.id, rest))
        assert [row.number for row in later] == list(range(11, 5_001))
        assert [row.pairing for row in later] == rest


def test_names_of_tournaments_and_entrants_are_taken_once() -> None:
    with memory() as connection:
        cup = catalogue.create_tournament(connection, "cup", "swiss", 1, {})
        with pytest.raises(UserError, match="there is a tournament 'cup' already"):
            catalogue.create_tournament(connection, "cup", "swiss", 1, {})
        catalogue.add_entrant(connection, cup.id, "ada", "house")
        with pytest.raises(UserError, match="there is an entrant 'ada' already"):
            catalogue.add_entrant(connection, cup.id, "ada", "remote")
        ben = catalogue.add_entrant(connection, cup.id, "ben", "remote", age=9, session="f00")
        assert ben.number == 2
        assert catalogue.find_session(connection, cup.id, "f00") == ben
        assert catalogue.find_session(connection, cup.id, "f01") is None


def test_entrant_changes_only_in_what_is_given() -> None:
    with memory() as connection:
        cup = catalogue.create_tournament(connection, "cup", "swiss", 1, {})
        ada = catalogue.add_entrant(connection, cup.id, "ada", "remote", session="1")
        catalogue.set_entrant(connection, ada.id, status="ejected", reason={"verdict": "timeout"})
        catalogue.set_entrant(connection, ada.id, strikes=2)
        [row] = catalogue.entrants(connection, cup.id)
        assert (row.status, row.reason, row.strikes, row.session) == (
            *("ejected", {"verdict": "timeout"}),
            *(2, "1"),
        )
        catalogue.set_entrant(connection, ada.id, status="in")
        assert catalogue.entrants(connection, cup.id)[0].reason is None


def test_status_keeps_the_first_start_and_the_end() -> None:
    with memory() as connection:
        cup = catalogue.create_tournament(connection, "cup", "swiss", 1, {})
        catalogue.set_status(connection, cup.id, "running")
        started = catalogue.tournaments(connection)[0].started_ms
        assert started is not None
        catalogue.set_status(connection, cup.id, "paused")
        catalogue.set_status(connection, cup.id, "running")
        catalogue.set_status(connection, cup.id, "finished", {"table": ["ada"]})
        found = catalogue.find_tournament(connection, "cup")
        assert found is not None
        assert found.started_ms == started
        assert found.ended_ms is not None
        assert found.result == {"table": ["ada"]}


def played(game: str) -> Result:
    return Result(game, game, 1, NAMES, ranking=(NAMES[:1], NAMES[1:]))


def finish(connection: Connection, game: catalogue.GameRow, **changes: Any) -> None:
    given: dict[str, Any] = {"chain": "c", "plies": 9, "result": played(game.name), **changes}
    catalogue.finish_game(connection, game.id, [(1, "end\n")], **given)


def test_finished_game_has_its_last_line_and_its_result() -> None:
    with memory() as connection:
        one, two = begin(connection, 2)
        finish(connection, one, details={"ben": Detail(think_ms_total=7, think_ms_max=4, turns=3)})
        [cup] = catalogue.tournaments(connection)
        assert catalogue.running_games(connection, cup.id) == [two]
        assert catalogue.lines(connection, one.id) == ["header\n", "end\n"]
        ended = catalogue.game_by_name(connection, cup.id, one.name)
        assert ended is not None
        assert (ended.status, ended.chain, ended.plies) == ("finished", "c", 9)
        assert catalogue.results(connection, cup.id) == {"1.1": played("1.1")}
        assert catalogue.details(connection, one.pairing_id)["ben"].turns == 3


def test_game_ends_once() -> None:
    with memory() as connection:
        [game] = begin(connection, 1)
        catalogue.interrupt_game(connection, game.id, [(1, "interrupted\n")], "c")
        with pytest.raises(ServerFault, match="it is interrupted"):
            catalogue.interrupt_game(connection, game.id)
        again = catalogue.begin_game(connection, game.pairing_id, 2, "1.1-2", game.seed, "header\n")
        assert catalogue.count_attempts(connection, game.pairing_id) == 2
        finish(connection, again, result=played("1.1"))
        [cup] = catalogue.tournaments(connection)
        assert [row.status for row in catalogue.games(connection, cup.id)] == [
            "interrupted",
            "finished",
        ]


def test_void_result_takes_the_place_of_what_was_there() -> None:
    with memory() as connection:
        [game] = begin(connection, 1)
        [cup] = catalogue.tournaments(connection)
        finish(connection, game)
        void = Result("1.1", "1.1", 1, NAMES, kind="void")
        catalogue.void_result(connection, game.pairing_id, void, "the board was wrong")
        assert catalogue.results(connection, cup.id) == {"1.1": void}
        assert catalogue.games(connection, cup.id)[0].status == "void"
        assert catalogue.details(connection, game.pairing_id)["cy"].detail == "the board was wrong"


def test_reopened_pairing_has_no_result_and_can_be_played_again() -> None:
    with memory() as connection:
        [game] = begin(connection, 1)
        [cup] = catalogue.tournaments(connection)
        finish(connection, game)
        catalogue.reopen(connection, game.pairing_id)
        assert catalogue.results(connection, cup.id) == {}
        assert catalogue.games(connection, cup.id)[0].status == "superseded"
        assert catalogue.lines(connection, game.id) == ["header\n", "end\n"]
        finish(
            connection,
            catalogue.begin_game(connection, game.pairing_id, 2, "1.1-2", 7, "header\n"),
            result=played("1.1"),
        )
        assert list(catalogue.results(connection, cup.id)) == ["1.1"]


def test_ratings_are_replaced_as_a_whole() -> None:
    with memory() as connection:
        cup = catalogue.create_tournament(connection, "cup", "ladder", 1, {})
        first = [catalogue.RatingRow(name, 1500.0, 1400.0, 1600.0, 1) for name in NAMES]
        catalogue.set_ratings(connection, cup.id, first)
        second = [catalogue.RatingRow("ben", 1501.5, 1400.0, 1600.0, 2)]
        catalogue.set_ratings(connection, cup.id, second)
        assert catalogue.ratings(connection, cup.id) == second
