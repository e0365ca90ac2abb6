"""`croupier plan`: the time that is said to be enough always is, and who takes part."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier_common.outcome import Color
from croupier_server.commands.duration import (
    longest_game,
    rows_at_most,
    sizes_of,
    tiles_of,
    typical_plies,
    worst_lines,
)
from croupier_server.commands.plan import entrants_of, plan
from croupier_server.errors import UserError
from croupier_server.settings import Settings, load_settings
from croupier_server.tournament.manager import format_of
from croupier_server.tournament.model import (
    Entrant,
    Field,
    History,
    Issue,
    Pairing,
    Result,
    ResultKind,
)
from croupier_server.tournament.queue import FairQueue


def load(**sections: Mapping[str, object]) -> Settings:
    return load_settings(None, sections)


class Clockwork:
    """Plays a tournament in the real queue, with games that last up to 1."""

    def __init__(self, chosen: Settings, players: int, seed: int) -> None:
        self.form = format_of(chosen, 1)
        self.field = Field(tuple(Entrant(f"p{at}") for at in range(players)))
        self.draws = random.Random(seed)
        self.queue = FairQueue(chosen.tournament.games_at_once)
        self.issued: dict[str, Pairing] = {}
        self.results: dict[str, Result] = {}

    def lasts(self) -> float:
        now, running = 0.0, list[tuple[float, str]]()
        while True:
            self.issue()
            while (pairing := self.queue.next(lambda _: 1)) is not None:
                self.queue.started(pairing.game)
                lasting = self.draws.choice([1.0, 1.0, self.draws.random()])
                running.append((now + lasting, pairing.game))
            if not running:
                return now
            running.sort()
            ended, game = running.pop(0)
            self.queue.finished(game, ended - now)
            now = ended
            self.end(self.issued[game])

    def issue(self) -> None:
        history = History(tuple(self.issued.values()), dict(self.results))
        following = self.form.following(self.field, history)
        if not isinstance(following, Issue):
            return
        for pairing in following.pairings:
            self.issued[pairing.game] = pairing
            if pairing.is_bye:
                self.end(pairing)
            else:
                self.queue.add([pairing])
        self.issue()

    def end(self, pairing: Pairing) -> None:
        order = list(pairing.players)
        self.draws.shuffle(order)
        ties = self.draws.random() < 0.3
        ranking = (tuple(order),) if ties else tuple((name,) for name in order)
        kind: ResultKind = "bye" if pairing.is_bye else "played"
        self.results[pairing.game] = Result(
            pairing.game, pairing.block, pairing.round, pairing.players, kind, ranking
        )


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["knockout", "round-robin", "swiss"]),
    st.integers(2, 12),
    st.integers(2, 4),
    st.integers(1, 6),
    st.integers(0, 10_000),
)
def test_no_tournament_takes_longer_than_the_plan_says(
    form: str, players: int, table: int, at_once: int, seed: int
) -> None:
    tournament: dict[str, object] = {"format": form, "table": table, "games_at_once": at_once}
    if form == "round-robin" and table > 2:
        tournament["blocks_per_entrant"] = 3
    chosen = load(tournament=tournament)
    found = format_of(chosen, 1).plan([Entrant(f"p{at}") for at in range(players)])
    rows, _ = rows_at_most(chosen, found, max(sizes_of(chosen, found)))
    assert Clockwork(chosen, players, seed).lasts() <= rows + 1e-9


def test_longest_game_is_the_sum_of_its_clocks() -> None:
    chosen = load(
        clocks={
            "start_ms": 1_000,
            "place_ms": 2_000,
            "move_ms": 3_000,
            "latency_allowance_ms": 0,
            "grace_ms": 500,
            "bank_ms": 10_000,
        },
        game={"board": "3x4,holes=2"},
        tournament={"format": "round-robin"},
    )
    # two players: 8 placements; 10 tiles - 4 under penguins + 1 that fails = 7 moves
    assert tiles_of(chosen.game) == 10
    assert longest_game(chosen, [2]).seconds == 1 + 8 * 2 + 7 * 3 + 2 * 10.5


@pytest.mark.parametrize("board", ["5x5", "classic", "30x30"])
def test_typical_game_has_no_more_plies_than_placements_and_tiles(board: str) -> None:
    chosen = load(game={"board": board})
    for players in range(2, len(Color) + 1):
        placements = players * (6 - players)
        tiles = tiles_of(chosen.game)
        assert placements < typical_plies(chosen.game, players) <= placements + tiles


def test_entrants_are_those_of_house_programs_and_roster_in_order_of_age(tmp_path: Path) -> None:
    roster = tmp_path / "roster.toml"
    roster.write_text(
        "".join(
            f'[[entrant]]\nname = "{name}"\nage = {age}\ntoken = "sha256:{"0" * 64}"\n'
            for name, age in (("Ada", 30), ("Ben", 20))
        ),
        encoding="utf-8",
    )
    chosen = load(lobby={"house": ["greedy"], "programs": ["Ben=x", "Cy=y"], "roster": roster})
    assert [one.name for one in entrants_of(chosen, None)] == ["Ben", "Ada", "greedy", "Cy"]
    assert len(entrants_of(chosen, 7)) == 7
    with pytest.raises(UserError, match="has 4 already"):
        entrants_of(chosen, 3)


def test_too_few_or_too_many_for_the_lobby_are_refused() -> None:
    with pytest.raises(UserError, match=r"0 players are known, and lobby\.min_players is 2"):
        entrants_of(load(), None)
    with pytest.raises(UserError, match=r"70 players, and lobby\.max_players is 64"):
        entrants_of(load(), 70)


def test_plan_that_is_too_large_is_refused_with_the_arithmetic(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text('[tournament]\nformat = "round-robin"\nmax_games = 89\n', encoding="utf-8")
    with pytest.raises(UserError, match="45 blocks of 2 games = 90, more than max_games = 89"):
        plan.main([str(file), "--players", "10"], standalone_mode=False)


def test_plan_shows_pairings_and_all_of_them_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.toml"
    file.write_text('[tournament]\nformat = "round-robin"\n', encoding="utf-8")
    plan.main([str(file), "--players", "10"], standalone_mode=False)
    told = capsys.readouterr().out
    assert "9 rounds, 90 games, 0 byes" in told
    assert "21 more; --all shows them" in told
    plan.main([str(file), "--players", "10", "--all"], standalone_mode=False)
    told = capsys.readouterr().out
    assert told.count(" - player ") >= 45
    assert "more; --all" not in told
    assert "at most " in told
    assert "likely " in told


def test_endless_tournament_has_no_worst_case() -> None:
    chosen = load(tournament={"format": "ladder"})
    found = format_of(chosen, 1).plan([Entrant("a"), Entrant("b")])
    assert list(worst_lines(chosen, found)) == ["at most: no end by itself"]
