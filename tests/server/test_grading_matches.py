"""Matches of a submission against house players, and the round robin: real programs."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from croupier_common.record import Record, read_record, replay
from croupier_common.verdict import Verdict
from croupier_server.gateway.house_seat import HousePool
from croupier_server.grading.evidence import Evidence, GamePlayed, Match
from croupier_server.grading.matches_names import table_name
from croupier_server.grading.round_robin import pairs, placings
from croupier_server.grading.stages import Referee, Stages
from croupier_server.grading.submission import Submission
from croupier_server.tournament.model import Result
from support.needs import require
from support.submitted import games, refereed, rubric_of, submission


async def found_by(referee: Referee, one: Submission, out: Path) -> Evidence:
    return await Stages(referee, one, 0, out / one.intake.name).evidence(lambda _: None)


@pytest.fixture(scope="module")
def pool() -> Generator[HousePool]:
    """One for all, as it takes a while to start."""
    found = HousePool(1)
    yield found
    found.close()


async def match_of(
    folder: Path, pool: HousePool, *switches: str, count: int = 2, players: int = 2
) -> Match:
    """The match of a scripted player against the house's first."""
    rubric = rubric_of(folder, games(count), players=players)
    async with refereed(rubric, folder / "out", pool) as referee:
        found = await found_by(referee, submission(folder / "in", "ada", *switches), folder / "out")
    return found.matches["first"]


def record(folder: Path, game: GamePlayed, name: str = "ada") -> Record:
    with (folder / "out" / name / game.record).open("rb") as lines:
        return read_record(lines)


async def test_block_is_played_from_every_seat_on_one_board(
    tmp_path: Path, pool: HousePool
) -> None:
    match = await match_of(tmp_path, pool, players=3)
    (block,) = match.blocks
    assert [game.seat for game in block.games] == [0, 2, 1]
    assert {game.game for game in block.games} == {"first.1.1", "first.1.2", "first.1.3"}
    assert all(set(game.players) == {"ada", "first", "first 2"} for game in block.games)
    records = [record(tmp_path, game) for game in block.games]
    assert {one.header.board for one in records} == {records[0].header.board}
    assert {one.header.seed for one in records} == {block.seed}
    assert match.problem == match.cut == ""
    assert 0 < match.games_s <= match.took_s


async def test_records_hold_and_agree_with_what_is_told_of_the_game(
    tmp_path: Path, pool: HousePool
) -> None:
    match = await match_of(tmp_path, pool)
    for game in match.games:
        found = record(tmp_path, game)
        outcome = replay(found).outcome
        assert outcome is not None
        names = {seat.color: seat.name for seat in found.header.players}
        assert {names[color]: fish for color, fish in outcome.fish.items()} == game.fish
        turns = [line for line in found.lines if line.event["kind"] in {"place", "move"}]
        mine = [line for line in turns if names[line.event["color"]] == "ada"]
        assert game.thinks_ms == tuple(line.obs["think_ms"] for line in mine)
        assert game.plies == len(turns)
        first = outcome.ranking[0]
        best = {names[color] for color in first}
        assert game.score == (0.0 if "ada" not in best else 1.0 if best == {"ada"} else 0.5)


async def test_game_that_ends_with_a_verdict_is_lost_and_the_next_one_is_played(
    tmp_path: Path, pool: HousePool
) -> None:
    match = await match_of(tmp_path, pool, "crash", "move", "1", count=6)
    assert len(match.blocks) == 2  # the second block ends after the fourth such game
    assert match.cut == "4 games ended with a verdict"
    for game in match.games:
        assert game.score == 0
        assert game.mishap is not None
        assert game.mishap.verdict is Verdict.DISCONNECTED
        assert game.mishap.phase == "movement"
        assert game.mishap.detail.endswith("ZeroDivisionError: as it was told to")
        assert record(tmp_path, game).is_whole
    log = (tmp_path / "out/.grading/ada/match-first.log").read_text()
    assert log.count("ZeroDivisionError: as it was told to") == 4


async def test_late_answer_is_told_with_what_to_fix(tmp_path: Path, pool: HousePool) -> None:
    match = await match_of(tmp_path, pool, "silent", "place", "0")
    mishap = match.games[0].mishap
    assert mishap is not None
    assert (mishap.verdict, mishap.fix) == (Verdict.TIMEOUT, Verdict.TIMEOUT.fix)
    assert "no answer within 500 ms" in mishap.detail


async def test_program_that_does_not_start_is_told_with_its_last_words(
    tmp_path: Path, pool: HousePool
) -> None:
    match = await match_of(tmp_path, pool, "crash", "hello", "0")
    assert match.blocks == ()
    assert match.problem.startswith("it did not start: ")
    assert "ZeroDivisionError: as it was told to" in match.problem


async def test_program_that_does_not_accept_the_match_does_not_start(
    tmp_path: Path, pool: HousePool
) -> None:
    match = await match_of(tmp_path, pool, "error", "tournament_start", "0")
    assert "no idea" in match.problem


async def test_program_that_does_not_start_again_loses_its_games(
    tmp_path: Path, pool: HousePool
) -> None:
    once = "import os, sys; os.path.exists('/proc/self') and None\n"
    rubric = rubric_of(tmp_path, games(4))
    one = submission(tmp_path / "in", "ada", "crash", "move", "0")
    mark = tmp_path / "started"
    player = tmp_path / "in/ada/player.py"
    stop = f"if os.path.exists({str(mark)!r}): sys.exit('not again')\nopen({str(mark)!r}, 'w')\n"
    text = player.read_text().replace("class Player:", once + stop + "class Player:", 1)
    player.write_text(text)
    async with refereed(rubric, tmp_path / "out", pool) as referee:
        match = (await found_by(referee, one, tmp_path / "out")).matches["first"]
    first, second = match.games[:2]
    assert first.mishap is not None
    assert first.plies > 0
    assert second.mishap is not None
    assert (second.score, second.plies, second.record) == (0, 0, "")
    assert "not again" in second.mishap.detail


async def test_limit_that_ends_a_program_is_named_with_what_to_do(
    tmp_path: Path, pool: HousePool
) -> None:
    require("linux", sys.platform.startswith("linux"), "memory is counted on Linux only")
    rubric = rubric_of(tmp_path, games(2), "[limits]\nmemory = '64 MiB'\n")
    one = submission(tmp_path / "in", "ada", "crash", "move", "0")
    player = tmp_path / "in/ada/player.py"
    hog = "self.hog = b'x' * (200 << 20); time.sleep(20)"
    player.write_text(
        player.read_text().replace("raise ZeroDivisionError", f"{hog}; raise OSError")
    )
    async with refereed(rubric, tmp_path / "out", pool) as referee:
        match = (await found_by(referee, one, tmp_path / "out")).matches["first"]
    mishap = match.games[0].mishap
    assert mishap is not None
    assert (mishap.limit, mishap.verdict) == ("memory", Verdict.DISCONNECTED)
    assert "64 MiB of memory" in mishap.detail
    assert mishap.fix.startswith("Use less memory")


async def test_every_submission_gets_the_same_boards_and_opponents(
    tmp_path: Path, pool: HousePool
) -> None:
    rubric = rubric_of(tmp_path, games(2, "random"))
    moves: list[list[list[object]]] = []
    async with refereed(rubric, tmp_path / "out", pool) as referee:
        for name in ("ada", "random"):  # one that is called as the house player is
            one = submission(tmp_path / "in", name)
            match = (await found_by(referee, one, tmp_path / "out")).matches["random"]
            assert match.games[0].players[1] == "random"
            found = [record(tmp_path, game, name) for game in match.games]
            moves.append([_moves(one) for one in found])
    assert moves[0] == moves[1]


def _moves(record: Record) -> list[object]:
    return [
        {**line.event, "color": None}
        for line in record.lines
        if line.event["kind"] in {"place", "move"}
    ]


@pytest.mark.parametrize(
    ("name", "taken", "found"),
    [
        ("Pingu", (), "Pingu"),
        ("greedy", ("greedy",), "greedy 2"),
        ("GREEDY", ("greedy", "greedy 2"), "GREEDY 3"),
        ("a\u202eb\n", (), "a?b?"),
        ("  ", (), "player"),
        ("x" * 99, ("x" * 32,), "x" * 30 + " 2"),
    ],
)
def test_name_at_the_table_is_one_that_a_player_can_have(
    name: str, taken: tuple[str, ...], found: str
) -> None:
    assert table_name(name, taken) == found


# -- the round robin


def test_every_pair_meets_as_often_as_asked_from_both_seats() -> None:
    blocks = pairs(["a", "b", "c"], 2)
    seats = [pairing.players for games in blocks for pairing in games]
    assert len({pairing.game for games in blocks for pairing in games}) == 12
    for one in "abc":
        for other in set("abc") - {one}:
            assert seats.count((one, other)) == 2


def test_fewer_than_two_have_no_pairs() -> None:
    assert pairs(["a"], 1) == pairs([], 1) == []


def test_places_are_by_points_and_equal_for_equals() -> None:
    def won(game: str, winner: str, loser: str) -> Result:
        return Result(game, game, 1, (winner, loser), ranking=((winner,), (loser,)))

    found = placings(["a", "b", "c"], [won("1", "a", "b"), won("2", "b", "a"), won("3", "a", "c")])
    assert (found["a"].place, found["a"].of, found["a"].games) == (1, 3, 3)
    assert found["c"].place == 3
    assert placings(["a", "b"], [])["b"].place == 1
