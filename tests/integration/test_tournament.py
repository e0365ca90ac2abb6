"""Whole tournaments over real sockets, with players that speak the protocol by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from croupier_common.messages import parse_from_server
from croupier_common.record import read_record, replay
from croupier_common.verdict import Phase, Verdict
from croupier_server.tournament.progress import GameOver
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.wire import Script, play, quick_settings, results, silent

pytestmark = pytest.mark.usefixtures("anywhere")


def names(count: int) -> list[Script]:
    return [Script(name) for name in "abcdefghijklm"[:count]]


@pytest.mark.parametrize(
    ("players", "games"),
    [(2, ["1.1"]), (3, ["1.1"]), (5, ["1.1", "1.2"]), (9, ["1.1", "1.2", "1.3"])],
)
async def test_tournament_of_honest_players(players: int, games: list[str], tmp_path: Path) -> None:
    arena = await play(quick_settings(tmp_path), names(players))
    assert not arena.result.faults
    assert arena.result.winners
    assert [p.game for p, _ in arena.result.games][: len(games)] == games
    assert sorted(name for _, name in arena.result.standings) == [
        script.name for script in names(players)
    ]
    for wire in arena.wires.values():
        assert wire.close_code == 1000
        assert len(wire.calls("tournament_start")) == len(wire.calls("tournament_end")) == 1
        (end,) = wire.calls("tournament_end")
        assert end["params"]["won"] is (wire.name in arena.result.winners)


async def test_every_message_of_the_server_is_in_the_protocol(tmp_path: Path) -> None:
    scripts = [
        Script("a", join={"events": True, "legal_actions": True, "max_games": 3, "age": 7}),
        Script("b", results("move", [[0, 0], [9, 9]])),
        Script("c"),
    ]
    arena = await play(quick_settings(tmp_path), scripts)
    methods: set[str] = set()
    for wire in arena.wires.values():
        for message in wire.received:
            parse_from_server(json.dumps(message))
            methods.add(message.get("method", "join result"))
    assert methods == {
        *("join result", "tournament_start", "game_start", "place", "move", "events"),
        *("ejected", "game_end", "tournament_end"),
    }


async def test_records_hold_and_tell_the_same_as_the_result(tmp_path: Path) -> None:
    scripts = [*names(4), Script("e", silent("move", after=1))]
    arena = await play(quick_settings(tmp_path), scripts)
    folder = tmp_path / "1"
    result = json.loads((folder / "tournament.json").read_text(encoding="utf-8"))
    assert result == arena.result.to_json()
    for pairing, told in arena.result.games:
        with (folder / f"{pairing.game}.jsonl").open("rb") as lines:
            record = read_record(lines)
        outcome = replay(record).outcome
        assert outcome is not None
        names_of = {seat.color: seat.name for seat in record.header.players}
        ranking = tuple(tuple(names_of[color] for color in group) for group in outcome.ranking)
        assert ranking == told.ranking
        assert {names_of[color]: fish for color, fish in outcome.fish.items()} == told.fish
        assert tuple(seat.name for seat in record.header.players) == pairing.players


async def test_same_seed_gives_the_same_records_however_many_games_at_once(
    tmp_path: Path,
) -> None:
    digests: list[list[str]] = []
    for run, at_once in enumerate((1, 8), 1):
        settings = quick_settings(
            tmp_path,
            game={"board": "5x5,holes=3,fish=1-5"},
            tournament={"games_at_once": at_once, "seed": 11},
        )
        arena = await play(settings, names(9))
        found: list[str] = []
        for pairing, _ in arena.result.games:
            with (tmp_path / str(run) / f"{pairing.game}.jsonl").open("rb") as lines:
                found.append(read_record(lines).digest)
        digests.append(found)
    assert digests[0] == digests[1]


async def test_no_more_games_at_once_than_set() -> None:
    settings = quick_settings(tournament={"games_at_once": 1})
    arena = await play(settings, names(9))
    first_round = [wire for wire in arena.wires.values() if wire.calls("game_start")]
    assert len(first_round) == 9
    order = [news.pairing.game for news in arena.progress if isinstance(news, GameOver)]
    assert order[:3] == ["1.1", "1.2", "1.3"]


async def test_ages_decide_the_turn_order_only_where_declared_ages_count() -> None:
    scripts = [Script("a", join={"age": 30}), Script("b", join={"age": 20}), Script("c")]
    seats = {
        ages: (await play(quick_settings(lobby={"ages": ages}), scripts)).result.games[0][0].players
        for ages in ("declared", "sign_up")
    }
    assert seats == {"declared": ("b", "a", "c"), "sign_up": ("a", "b", "c")}


async def test_classic_game_starts_with_the_youngest_and_goes_round_the_seats() -> None:
    scripts = [Script("a", join={"age": 30}), Script("b", join={"age": 20}), Script("c")]
    settings = quick_settings(
        lobby={"ages": "declared"}, game={"rules": "classic", "board": "classic"}
    )
    arena = await play(settings, scripts)
    assert arena.result.games[0][0].players == ("b", "c", "a")
    assert not arena.result.faults


async def test_who_does_not_acknowledge_the_start_is_out() -> None:
    arena = await play(quick_settings(), [Script("a", silent("tournament_start")), *names(4)[1:]])
    fault = arena.result.faults["a"]
    assert (fault.verdict, fault.phase) == (Verdict.NO_START, Phase.TOURNAMENT_START)
    assert arena.wires["a"].calls("ejected")
    assert arena.result.games[0][0].players == ("b", "c", "d")


async def test_winner_that_fails_the_end_loses_the_title() -> None:
    winners = (await play(quick_settings(), names(2))).result.winners
    scripts = [
        Script(name, silent("tournament_end")) if name in winners else Script(name) for name in "ab"
    ]
    arena = await play(quick_settings(), scripts)
    assert arena.result.winners == ()
    assert {name: fault.verdict for name, fault in arena.result.faults.items()} == dict.fromkeys(
        winners, Verdict.TIMEOUT
    )


async def test_knocked_out_players_learn_the_end() -> None:
    arena = await play(quick_settings(), names(9))
    for wire in arena.wires.values():
        (end,) = wire.calls("tournament_end")
        assert end["params"]["winners"] == list(arena.result.winners)


async def test_all_failing_leaves_no_winner() -> None:
    scripts = [Script(name, silent("place")) for name in "abcde"]
    arena = await play(quick_settings(), scripts)
    assert arena.result.winners == ()
    assert len(arena.result.faults) == 5


async def test_lone_survivor_wins_unplayed() -> None:
    scripts = [Script("a", silent("game_start")), Script("b"), Script("c", silent("game_start"))]
    settings = quick_settings(clocks={"start_ms": 200})
    arena = await play(settings, scripts)
    assert arena.result.winners == ("b",)
    (_, result) = arena.result.games[0]
    assert (result.kind, result.ranking, dict(result.fish)) == ("played", (("b",),), {"b": 0})
    assert {fault.verdict for fault in arena.result.faults.values()} == {Verdict.NO_START}


async def test_fewer_starters_have_more_penguins() -> None:
    scripts = [Script("a", silent("game_start")), Script("b"), Script("c"), Script("d")]
    arena = await play(quick_settings(clocks={"start_ms": 200}), scripts)
    (first, *_) = arena.wires["b"].calls("place")
    assert first["params"]["state"]["penguins_each"] == 3
    assert first["params"]["you"] == "white"
