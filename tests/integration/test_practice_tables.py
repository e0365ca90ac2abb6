"""The practice room's games by wish: boards, rules, no clock, and several people at one table."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from croupier_server.gateway.origins import Origins
from croupier_server.settings import Settings
from support.proxy import proxy_to
from support.wire import Call, Script, Wire, hangs_up, quick_settings, serving, silent, thinks


def practice(**values: object) -> Settings:
    return quick_settings(practice={"enabled": True, **values}, game={"board": "4x4"})


@asynccontextmanager
async def room(**values: object) -> AsyncGenerator[int]:
    """A server with a practice room; its port."""
    async with asyncio.timeout(20), serving(practice(**values)) as (port, _):
        yield port


def visitor(name: str, wish: str, **more: Any) -> Script:
    return Script(name, join={"room": f"practice:{wish}"}, **more)


def refusal(wire: Wire) -> str:
    return str(wire.received[0]["error"]["message"])


def game_of(wire: Wire) -> Any:
    (start,) = wire.calls("game_start")
    return start["params"]


async def test_board_and_rules_are_those_that_were_asked_for() -> None:
    async with room() as port:
        wish = "first;board=7x6,holes=2,fish=1-3;rules=classic"
        game = game_of(await visitor("a", wish).play(port))
    assert len(game["board"]) == 7
    assert sum(fish == 0 for row in game["board"] for fish in row) == 2
    assert game["rules"] == "classic"
    assert game["budget_ms"] < 86_400_000


async def test_without_options_it_is_the_servers_own_game() -> None:
    async with room() as port:
        game = game_of(await visitor("a", ";clock=none").play(port))
    assert [len(row) for row in game["board"]] == [4] * 4
    assert {seat["name"] for seat in game["players"]} == {"a", "greedy"}


async def test_long_wish_is_heard() -> None:
    wish = "minimax:1,minimax:1,minimax:1;board=8x8,fish=1-5;rules=classic;clock=none"
    async with room() as port:
        wire = await visitor("a", wish).play(port)
    assert len(game_of(wire)["players"]) == 4
    assert wire.close_code == 1000


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ("greedy;bord=5x5", "there are board=..., rules=..., clock=..., table=..."),
        ("greedy;board", "there are board=..."),
        ("greedy;", "there are board=..."),
        ("greedy;rules=fish;rules=fish", "twice"),
        ("greedy;board=5", "like '5x5'"),
        ("greedy;board=11x11", "at most 120 tiles"),
        ("greedy,greedy;board=2x2", "penguins"),
        ("greedy;board=4x4,fish=2;rules=clasic", "there are fish, classic"),
        ("greedy;clock=5", "it can be none"),
        ("human", "add ;table=CODE"),
        ("greedy;table=X1", "no seat for another person"),
        ("human;table=a b", "letters, digits"),
        ("human,human,greedy,greedy;table=X1", "4 opponents"),
        (";table=nobody", "nobody waits at table NOBODY"),
        ("robot", "and human for another person"),
    ],
)
async def test_what_can_not_be_had_is_refused_with_what_can(wish: str, told: str) -> None:
    async with room() as port:
        wire = await visitor("a", wish).play(port)
    assert told in refusal(wire)
    assert wire.close_code == 4001


async def test_room_with_a_clock_for_everybody_says_so() -> None:
    async with room(clockless=False) as port:
        wire = await visitor("a", "greedy;clock=none").play(port)
    assert "leave clock=none out" in refusal(wire)


async def test_no_clock_lets_a_visitor_think_longer_than_any_budget() -> None:
    async with room() as port:
        slow = visitor("a", "first;clock=none", habit=thinks("place", 0.5))
        wire = await slow.play(port)
        late = await visitor("b", "first", habit=silent("place")).play(port)
    assert game_of(wire)["budget_ms"] == 86_400_000
    assert wire.close_code == 1000
    assert late.calls("ejected")[0]["params"]["verdict"] == "timeout"


# -- several people


async def sit_down(group: asyncio.TaskGroup, port: int, script: Script) -> asyncio.Task[Wire]:
    """Have somebody join, and go on once the server has answered."""
    joined = asyncio.Event()
    task = group.create_task(script.play(port, joined))
    await joined.wait()
    return task


async def test_people_meet_at_a_table_whose_first_guest_decided_what_is_played() -> None:
    async with room() as port, asyncio.TaskGroup() as group:
        wish = "human,human,first;board=5x5;table=Abc"
        host = await sit_down(group, port, visitor("host", wish))
        second = await sit_down(group, port, visitor("second", ";table=abc"))
        await asyncio.sleep(0.05)
        assert not host.done()
        assert not second.done()
        third = await sit_down(group, port, visitor("third", wish))
    games = [game_of(task.result()) for task in (host, second, third)]
    assert all(len(game["board"]) == 5 for game in games)
    assert {seat["name"] for seat in games[0]["players"]} == {"host", "second", "third", "first"}
    assert {task.result().close_code for task in (host, second, third)} == {1000}


async def test_table_can_be_laid_again_once_its_game_has_begun() -> None:
    async with room() as port:
        for _ in range(2):
            async with asyncio.TaskGroup() as group:
                host = await sit_down(group, port, visitor("host", "human;table=T"))
                _ = await sit_down(group, port, visitor("guest", ";table=T"))
            assert host.result().close_code == 1000


async def test_guest_with_another_wish_or_a_taken_name_is_refused() -> None:
    async with room() as port, asyncio.TaskGroup() as group:
        _ = await sit_down(group, port, visitor("host", "human;table=T"))
        other = await visitor("a", "human;board=5x5;table=T").play(port)
        double = await visitor("HOST", ";table=T").play(port)
        _ = await sit_down(group, port, visitor("guest", ";table=T"))
    assert "laid for another game" in refusal(other)
    assert double.received[0]["error"]["code"] == -32002


async def test_who_waits_in_vain_is_told() -> None:
    async with room(table_wait_ms=100) as port:
        wire = await visitor("host", "human,human;table=T").play(port)
        again = await visitor("guest", ";table=T").play(port)
    (told,) = wire.calls("ejected")
    assert told["params"]["detail"] == "1 of 3 people came to table T within 0.1 s"
    assert told["params"]["fix"] == "Agree on a time, and open a new table."
    assert wire.close_code == 4000
    assert "nobody waits" in refusal(again)


async def test_who_leaves_a_table_before_the_game_frees_its_seat() -> None:
    async with room() as port:
        async with connect(f"ws://127.0.0.1:{port}", proxy=None) as gone:
            join = '{"protocol":1,"name":"host","room":"practice:human;table=T"}'
            await gone.send(f'{{"jsonrpc":"2.0","id":1,"method":"join","params":{join}}}')
            await gone.recv()
        while True:  # until the server has seen it go
            alone = await visitor("guest", ";table=T", habit=hangs_up("tournament_start")).play(
                port
            )
            if "error" in alone.received[0]:
                break
    assert "nobody waits" in refusal(alone)


# -- away


async def test_visitor_comes_back_by_its_session_in_a_game_without_a_clock() -> None:
    async def cut(wire: Wire, call: Call) -> bool:
        if call["method"] != "move":
            return False
        proxy.cut()
        return True

    async with room() as port, proxy_to(port) as proxy:
        wish = "first;clock=none"
        gone = await visitor("a", wish, habit=cut).play(proxy.port)
        await asyncio.sleep(0.4)  # longer than a move, and than the grace of a game with a clock
        session = gone.received[0]["result"]["session"]
        again = Script("a", join={"room": f"practice:{wish}", "session": session})
        again_wire = await again_with(gone, again, port)
    assert again_wire.received[1]["id"] == gone.calls("move")[0]["id"]
    assert again_wire.close_code == 1000
    assert len(again_wire.calls("game_end")) == 1


async def again_with(gone: Wire, script: Script, port: int) -> Wire:
    """Go on where another connection was lost: the rules came with game_start, then."""

    async def knows(wire: Wire, _call: Call) -> bool:
        wire.rules.update(gone.rules)
        return False

    return await Script(script.name, knows, script.join).play(port)


async def test_who_stays_away_in_a_game_without_a_clock_keeps_nobody_waiting() -> None:
    async with room(away_ms=400) as port, asyncio.TaskGroup() as group:
        wish = "human;clock=none;table=T"
        leaver = visitor("leaver", wish, habit=hangs_up("move"))
        leaves = await sit_down(group, port, leaver)
        stays = await sit_down(group, port, visitor("stays", ";table=T"))
    end = stays.result().calls("game_end")[0]["params"]
    assert stays.result().close_code == 1000
    assert len(end["outcome"]["ejected"]) == 1
    ejected = [entry["event"] for entry in end["events"] if entry["event"]["kind"] == "eject"]
    assert not ejected or ejected[0]["verdict"] == "withdrawn"
    assert not leaves.result().calls("game_end")


# -- pages of our own


@pytest.mark.parametrize(
    ("origin", "host", "is_allowed"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8000", True),
        ("http://localhost:8080", "localhost:8000", True),
        ("https://[::1]:8080", "[::1]:8000", True),
        ("http://192.168.7.5:8080", "192.168.7.5:8000", True),
        ("http://127.0.0.1:8081", "127.0.0.1:8000", False),  # another program's page
        ("http://6.6.6.6:8080", "127.0.0.1:8000", False),  # somebody else's page
        ("http://evil.example:8080", "evil.example:8000", False),  # a name made to point here
        ("http://evil.example", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("http://[:8080", "127.0.0.1:8000", False),
        ("http://127.0.0.1:x", "127.0.0.1:8000", False),
        ("https://good.example", "play.example:8000", True),  # it is named
    ],
)
def test_pages_of_this_server_may_connect(origin: str, host: str, is_allowed: bool) -> None:
    origins = Origins(frozenset({"https://good.example"}), 8080)
    assert origins.allows(origin, host) is is_allowed
    assert not Origins(frozenset()).allows(origin, host)


async def test_other_pages_are_told_why_they_can_not_connect() -> None:
    async with room() as port:
        with pytest.raises(InvalidStatus) as told:
            await connect(f"ws://127.0.0.1:{port}", origin="http://127.0.0.1:1")  # type: ignore[arg-type]
    assert told.value.response.status_code == 403
    assert b"server.origins" in (told.value.response.body or b"")
