"""Formats over real sockets, players that come late, several rooms at a time, and practice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import combinations
from typing import Any

import pytest

from croupier_common.verdict import Verdict
from croupier_server.app import App
from croupier_server.errors import NotEnoughPlayers, UserError
from croupier_server.settings import Settings
from croupier_server.tournament.progress import RoundBegins, TournamentResult
from support.wire import Call, Script, Wire, play, quick_settings, results, silent

HOUSE = ["ada=greedy", "bo=first"]


def named(names: str, **join: object) -> list[Script]:
    return [Script(name, join=join) for name in names]


@asynccontextmanager
async def app(*settings: Settings) -> AsyncGenerator[tuple[int, App, asyncio.Task[Any]]]:
    """A server for several tournaments, its port and its task."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    server = App(*settings, listening=port.set_result)
    task = asyncio.create_task(server.run())
    try:
        yield await port, server, task
    finally:
        task.cancel()
        await asyncio.wait({task})


def most_at_once(wire: Wire) -> int:
    """The most games that a player had open together."""
    open_games, most = set[str](), 0
    for message in wire.received:
        if message.get("method") == "game_start":
            open_games.add(message["params"]["game"])
        elif message.get("method") == "game_end":
            open_games.discard(message["params"]["game"])
        most = max(most, len(open_games))
    return most


@pytest.mark.parametrize("table", [2, 3, 4])
async def test_round_robin_seats_every_group_in_every_order(table: int) -> None:
    settings = quick_settings(tournament={"format": "round-robin", "table": table})
    arena = await play(settings, named("abcd"))
    groups = Counter(frozenset(pairing.players) for pairing, _ in arena.result.games)
    assert groups == {frozenset(group): table for group in combinations("abcd", table)}
    first = Counter(pairing.players[0] for pairing, _ in arena.result.games)
    assert len(set(first.values())) == 1
    assert all(most_at_once(wire) == 1 for wire in arena.wires.values())


async def test_nobody_has_more_games_at_once_than_it_can_play() -> None:
    settings = quick_settings(tournament={"format": "round-robin", "games_at_once": 100})
    scripts = [*named("abc", max_games=2), *named("def", max_games=64)]
    arena = await play(settings, scripts)
    most = {name: most_at_once(wire) for name, wire in arena.wires.items()}
    assert all(most[name] <= 2 for name in "abc")
    assert max(most.values()) > 2


async def test_swiss_tournament_is_played_round_by_round() -> None:
    settings = quick_settings(tournament={"format": "swiss", "rounds": 3})
    arena = await play(settings, named("abcde"))
    rounds = [news.number for news in arena.progress if isinstance(news, RoundBegins)]
    assert rounds == [1, 2, 3]
    byes = [result.players[0] for _, result in arena.result.games if result.kind == "bye"]
    assert len(byes) == len(set(byes)) == 3
    met = Counter(frozenset(p.players) for p, r in arena.result.games if r.kind == "played")
    assert set(met.values()) == {2}  # once, on one board, with each of the two beginning


# -- what an ejection costs


async def test_ejection_that_costs_the_game_leaves_the_player_in() -> None:
    settings = quick_settings(tournament={"format": "round-robin", "ejection": "game"})
    bad = Script("bad", results("move", [[0, 0], [9, 9]]))
    arena = await play(settings, [bad, *named("ab")])
    assert not arena.result.faults
    told = arena.wires["bad"].calls("ejected")
    assert len(told) == 4
    assert all(message["params"]["plays_on"] for message in told)
    assert len(arena.wires["bad"].calls("game_start")) == 4
    assert len(arena.wires["bad"].calls("tournament_end")) == 1
    assert arena.wires["bad"].close_code == 1000
    assert [name for _, name in arena.result.standings][-1] == "bad"


async def test_garbage_in_one_game_is_not_held_against_the_player_in_the_next() -> None:
    async def garbage_once(wire: Wire, call: Call) -> bool:
        if call["method"] != "move" or len(wire.calls("move")) > 1:
            return False
        await wire.send("garbage")
        return True

    settings = quick_settings(tournament={"format": "round-robin", "ejection": "game"})
    arena = await play(settings, [Script("once", garbage_once), *named("ab")])
    verdicts = [result.verdicts.get("once") for _, result in arena.result.games]
    assert Counter(verdicts) == {Verdict.MALFORMED: 1, None: 5}


async def test_player_is_out_after_so_many_ejections() -> None:
    settings = quick_settings(tournament={"format": "round-robin", "ejection": 2})
    bad = Script("bad", results("move", [[0, 0], [9, 9]]))
    arena = await play(settings, [bad, *named("abc")])
    assert set(arena.result.faults) == {"bad"}
    assert len(arena.wires["bad"].calls("ejected")) == 2
    assert arena.wires["bad"].close_code == 4000
    kinds = Counter(r.kind for _, r in arena.result.games if "bad" in r.players)
    assert kinds == {"played": 2, "forfeit": 4}
    forfeits = [r for _, r in arena.result.games if r.kind == "forfeit"]
    assert all(r.verdicts == {"bad": Verdict.DISQUALIFIED} for r in forfeits)
    assert all({*r.winners, "bad"} == set(r.players) for r in forfeits)


async def test_all_are_ejected_from_a_round_robin() -> None:
    settings = quick_settings(tournament={"format": "round-robin", "table": 4})
    arena = await play(settings, [Script(name, silent("place")) for name in "abcd"])
    assert len(arena.result.faults) == 4
    assert arena.result.winners == ()
    assert sorted(name for _, name in arena.result.standings) == ["a", "b", "c", "d"]


# -- who comes late


async def test_player_that_comes_late_plays_against_everyone() -> None:
    lobby = {"min_players": 2, "max_players": 3, "wait_ms": 100, "periods": 1, "late": True}
    settings = quick_settings(lobby=lobby, tournament={"format": "round-robin"})
    playing = asyncio.Event()
    late_is_in = asyncio.Event()

    async def waits_for_the_late(_wire: Wire, call: Call) -> bool:
        if call["method"] == "place":
            playing.set()
            await late_is_in.wait()
        return False

    settings = settings.model_copy(
        update={"clocks": settings.clocks.model_copy(update={"place_ms": 5_000})}
    )
    async with app(settings) as (port, server, task):
        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(Script(name, waits_for_the_late).play(port))
            await playing.wait()
            in_time = asyncio.Event()
            group.create_task(Script("c").play(port, in_time))
            await in_time.wait()
            taken = group.create_task(Script("A").play(port))
            full = group.create_task(Script("d").play(port))
            await asyncio.wait({taken, full})
            late_is_in.set()
        result: TournamentResult = await task
    assert "is taken" in taken.result().received[0]["error"]["message"]
    assert "is full" in full.result().received[0]["error"]["message"]
    groups = Counter(frozenset(pairing.players) for pairing, _ in result.games)
    assert groups == {frozenset(group): 2 for group in combinations("abc", 2)}
    assert server.results


async def test_nobody_joins_late_where_that_was_not_said() -> None:
    lobby = {"min_players": 2, "max_players": 3, "wait_ms": 100, "periods": 1}
    settings = quick_settings(lobby=lobby, tournament={"format": "round-robin"})
    playing, is_refused = asyncio.Event(), asyncio.Event()

    async def waits(_wire: Wire, call: Call) -> bool:
        if call["method"] == "game_start":
            playing.set()
            await is_refused.wait()
        return False

    async with app(settings) as (port, _, task), asyncio.TaskGroup() as group:
        for name in "ab":
            group.create_task(Script(name, waits).play(port))
        await playing.wait()
        late = await Script("c").play(port)
        is_refused.set()
        await task
    assert "has started" in late.received[0]["error"]["message"]


# -- several rooms


async def test_two_tournaments_at_a_time_and_each_player_where_it_asked_to_be() -> None:
    lobby = {"min_players": 2, "max_players": 2}
    red = quick_settings(lobby=lobby, tournament={"name": "red"}, game={"board": "4x4"})
    blue = quick_settings(
        lobby=lobby, tournament={"name": "blue"}, clocks={"move_ms": 777}, game={"board": "3x6"}
    )
    async with app(red, blue) as (port, server, task):
        async with asyncio.TaskGroup() as group:
            players = {
                name: group.create_task(Script(name, join=join).play(port))
                for name, join in rooms_of("ab", None, "cd", "blue").items()
            }
            unknown = group.create_task(Script("e", join={"room": "green"}).play(port))
        await task
    assert set(server.results) == {"red", "blue"}
    for name, wire in {name: task.result() for name, task in players.items()}.items():
        start = wire.calls("game_start")[0]["params"]
        assert start["budgets_ms"]["move"] == (777 if name in "cd" else 300)
        assert wire.received[0]["result"]["budgets_ms"]["move"] == (777 if name in "cd" else 300)
        assert {seat["name"] for seat in start["players"]} == set("cd" if name in "cd" else "ab")
    message = unknown.result().received[0]["error"]["message"]
    assert "there are red, blue" in message


def rooms_of(*pairs: str | None) -> Mapping[str, Mapping[str, object]]:
    found: dict[str, Mapping[str, object]] = {}
    for names, room in zip(pairs[::2], pairs[1::2], strict=True):
        for name in names or "":
            found[name] = {} if room is None else {"room": room}
    return found


async def test_tournament_with_too_few_players_leaves_the_other_alone() -> None:
    lobby: dict[str, object] = {"min_players": 2, "max_players": 2, "wait_ms": 50, "periods": 1}
    full = quick_settings(lobby=lobby, tournament={"name": "full"})
    lobby = {**lobby, "house": ["ada=greedy"]}
    short = quick_settings(lobby=lobby, tournament={"name": "short"})
    async with app(full, short) as (port, server, task):
        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(Script(name).play(port))
        with pytest.raises(NotEnoughPlayers):
            await task
    assert set(server.results) == {"full"}
    assert set(server.unplayed) == {"short"}


def test_rooms_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="another room"):
        App(quick_settings(), quick_settings())
    with pytest.raises(UserError, match="another room"):
        App(quick_settings(tournament={"name": "practice"}))


# -- practice


def practice(**values: object) -> Settings:
    return quick_settings(practice={"enabled": True, **values}, game={"board": "4x4"})


async def visits(settings: Settings, scripts: Sequence[Script]) -> list[Wire]:
    """Visits to a server whose own tournament never begins."""
    async with app(settings) as (port, _, _):
        return await asyncio.gather(*(script.play(port) for script in scripts))


async def test_visitor_plays_at_once_and_as_often_as_it_likes() -> None:
    async with app(practice()) as (port, server, _):
        for _ in range(3):
            wire = await Script("a", join={"room": "practice:first,greedy"}).play(port)
            (start,) = wire.calls("game_start")
            names = {seat["name"] for seat in start["params"]["players"]}
            assert names == {"a", "first", "greedy"}
            assert len(wire.calls("game_end")) == len(wire.calls("tournament_end")) == 1
            assert wire.close_code == 1000
    assert server.results == {}


async def test_visitors_that_play_side_by_side_share_a_name() -> None:
    scripts = [Script("same", join={"room": "practice"}) for _ in range(4)]
    for wire in await visits(practice(), scripts):
        assert wire.close_code == 1000
        assert len(wire.calls("tournament_end")) == 1


async def test_visitor_called_like_a_house_player_is_told_from_it() -> None:
    (wire,) = await visits(practice(), [Script("greedy", join={"room": "practice:greedy,greedy"})])
    (start,) = wire.calls("game_start")
    names = {seat["name"] for seat in start["params"]["players"]}
    assert names == {"greedy", "greedy 2", "greedy 3"}


async def test_visitor_that_misbehaves_hears_why_and_may_come_again() -> None:
    bad = Script("a", results("move", "nonsense"), {"room": "practice"})
    async with app(practice()) as (port, _, _):
        first = await bad.play(port)
        again = await Script("a", join={"room": "practice"}).play(port)
    assert first.calls("ejected")[0]["params"]["verdict"] == "malformed"
    assert again.close_code == 1000


@pytest.mark.parametrize(
    ("room", "told"),
    [
        ("practice:deep blue", "there are greedy, first, random, minimax:1, minimax:2"),
        ("practice:minimax:9", "no house player"),
        ("practice:" + ",".join(["greedy"] * 4), "4 opponents"),
    ],
)
async def test_practice_that_can_not_be_had_is_refused_with_what_can(room: str, told: str) -> None:
    (wire,) = await visits(practice(), [Script("a", join={"room": room})])
    assert told in wire.received[0]["error"]["message"]


async def test_full_practice_room_says_so() -> None:
    async def waits(_wire: Wire, call: Call) -> bool:
        return bool(call["method"] == "place")

    async with app(practice(max_visits=1)) as (port, _, _):
        joined = asyncio.Event()
        first = asyncio.create_task(Script("a", waits, {"room": "practice"}).play(port, joined))
        await joined.wait()
        second = await Script("b", join={"room": "practice"}).play(port)
        await first
    assert "full" in second.received[0]["error"]["message"]


async def test_there_is_no_practice_room_unless_it_is_opened() -> None:
    (wire,) = await visits(quick_settings(), [Script("a", join={"room": "practice"})])
    assert "no room 'practice'" in wire.received[0]["error"]["message"]


async def test_house_players_play_a_tournament_alone() -> None:
    lobby = {"house": [*HOUSE, "cleo=random"], "min_players": 3, "max_players": 3}
    runs = [
        await App(
            quick_settings(
                lobby=lobby,
                tournament={"format": "round-robin", "games_at_once": at_once, "seed": 3},
            )
        ).run()
        for at_once in (1, 8)
    ]
    assert runs[0].to_json() == runs[1].to_json()
    assert len(runs[0].games) == 6
    assert not runs[0].faults


async def test_visitor_that_left_is_forgotten_once_its_game_is_over() -> None:
    async def leaves(wire: Wire, call: Call) -> bool:
        if call["method"] != "place":
            return False
        wire.connection.transport.abort()
        return True

    settings = practice()
    settings = settings.model_copy(
        update={"clocks": settings.clocks.model_copy(update={"place_ms": 100, "grace_ms": 50})}
    )
    async with app(settings) as (port, _, _), asyncio.timeout(10):
        gone = await Script("a", leaves, {"room": "practice"}).play(port)
        session = gone.received[0]["result"]["session"]
        while True:
            again = await Script("a", leaves, {"room": "practice", "session": session}).play(port)
            if "error" in again.received[0]:
                break
    assert again.received[0]["error"]["code"] == -32004
