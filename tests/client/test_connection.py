"""The kit at a server's: a real WebSocket, scripted at the other end."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from croupier_client import connection
from croupier_client.ending import EndingKind
from croupier_client.errors import LoadError
from croupier_client.house import Rogue
from croupier_client.loader import load
from croupier_client.player import ActionLike, Ejection, Player, View
from croupier_common.actions import Move, Placement
from croupier_common.events import Ejected, Event, Placed
from croupier_common.game import Game
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import CLASSIC
from croupier_common.verdict import Fault, Phase, Verdict
from support.scripted import BOARD, COLORS, Peer, fresh_game, visit


class First(Player):
    """Plays the first legal action and notes all that it is called with."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.threads: set[str] = {threading.current_thread().name}

    def note(self, what: str, detail: Any) -> None:
        self.heard.append((what, detail))
        self.threads.add(threading.current_thread().name)

    def names(self) -> list[str]:
        return [what for what, _ in self.heard]

    def place(self, view: View) -> Placement:
        self.note("place", view)
        return view.placements[0]

    def move(self, view: View) -> Move:
        self.note("move", view)
        return view.moves[0]

    def tournament_start(self, names: Sequence[str]) -> None:
        self.note("tournament_start", names)

    def game_start(self, view: View) -> None:
        self.note("game_start", view)

    def events(self, game: str, events: Sequence[Event]) -> None:
        self.note("events", (game, events))

    def game_end(self, outcome: Outcome) -> None:
        self.note("game_end", outcome)

    def ejected(self, ejection: Ejection) -> None:
        self.note("ejected", ejection)

    def tournament_end(self, won: bool, winners: Sequence[str]) -> None:
        self.note("tournament_end", (won, winners))


class Made:
    """Makes players of a class, and keeps them."""

    def __init__(self, kind: Callable[[], Player]) -> None:
        self.kind = kind
        self.players: list[Any] = []

    def __call__(self) -> Player:
        player = self.kind()
        self.players.append(player)
        return player


# -- joining


async def test_join_says_what_was_asked_for() -> None:
    seen: list[Any] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.join())
        await peer.end(won=False)

    await visit(script, First, age=7, room="blue", token="t", max_games=2, events=True)

    assert seen == [
        {
            "jsonrpc": "2.0",
            "id": "join",
            "method": "join",
            "params": {
                "protocol": 1,
                "name": "Pingu",
                "age": 7,
                "room": "blue",
                "token": "t",
                "max_games": 2,
                "legal_actions": False,
                "events": True,
            },
        }
    ]


async def test_join_refused_is_one_line_and_exit_code_2() -> None:
    async def script(peer: Peer) -> None:
        await peer.refuse(-32002, "the name\n'Pingu' is taken")

    result = await visit(script, First)

    assert result.ending.kind is EndingKind.REFUSED
    assert result.ending.exit_code == 2
    assert result.ending.text == "refused: the name?'Pingu' is taken"


async def test_join_version_refused_names_both_versions() -> None:
    async def script(peer: Peer) -> None:
        message = "protocol 1 is not spoken here; this server speaks protocol 2"
        await peer.refuse(-32001, message)

    result = await visit(script, First)

    assert "protocol 1" in result.ending.text
    assert "protocol 2" in result.ending.text


async def test_join_answered_in_another_version_is_refused_by_the_kit() -> None:
    async def script(peer: Peer) -> None:
        await peer.join(protocol=3)

    result = await visit(script, First)

    assert result.ending.exit_code == 2
    assert result.ending.text == "the server speaks protocol 3, and this kit 1"


async def test_join_closed_without_answer_tells_the_reason() -> None:
    async def script(peer: Peer) -> None:
        await peer.receive()
        await peer.connection.close(1013, "the lobby is full")

    result = await visit(script, First)

    assert result.ending.exit_code == 2
    assert "1013, the lobby is full" in result.ending.text


async def test_join_cut_off_before_its_answer_is_made_again_and_once() -> None:
    joins: list[Any] = []

    async def script(peer: Peer) -> None:
        if not joins:
            joins.append(await peer.receive())
            peer.connection.transport.abort()
            return
        joins.append(await peer.join())
        await peer.end()

    made = Made(First)
    result = await visit(script, made)

    assert result.ending.kind is EndingKind.ENDED
    assert joins[0] == joins[1]  # a new join: there was no session to come back to
    assert len(joins) == 2
    assert sum("joined" in line for line in result.told) == 1
    assert sum("going back" in line for line in result.warned) == 1
    assert [what for player in made.players for what, _ in player.heard] == ["tournament_end"]


async def test_join_cut_off_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_SHORT_VISITS", 2)
    joins: list[Any] = []

    async def script(peer: Peer) -> None:
        joins.append(await peer.receive())
        peer.connection.transport.abort()

    result = await visit(script, First)

    assert result.ending.exit_code == 2
    assert result.ending.text.startswith("refused at join")
    assert len(joins) == 3


async def test_join_never_answered_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_JOIN_S", 0.05)

    async def script(peer: Peer) -> None:
        await peer.receive()
        await peer.connection.wait_closed()

    result = await visit(script, First)

    assert result.ending.text == "no answer to join within 0.05 s"


async def test_constructor_that_fails_is_told_before_anything_is_sent() -> None:
    def fail() -> Player:
        raise LoadError("Tester() failed")

    async def script(_peer: Peer) -> None:
        pytest.fail("it connected")

    with pytest.raises(LoadError, match=r"Tester\(\) failed"):
        await visit(script, fail)


# -- playing


@pytest.mark.parametrize("target", ["first", "greedy", "minimax:1", "random:3"])
async def test_house_player_plays_a_whole_tournament(target: str) -> None:
    game = Game("1.1", BOARD, COLORS)

    async def script(peer: Peer) -> None:
        await peer.join()
        started = await peer.ask("s", "tournament_start", tournament="t", players=["a", "Pingu"])
        assert started == {"jsonrpc": "2.0", "id": "s", "result": True}
        await peer.play(game)
        assert (await peer.end())["result"] is True

    result = await visit(script, load(target))

    assert game.outcome is not None
    assert game.outcome.ejected == ()
    assert result.ending.kind is EndingKind.ENDED
    assert result.ending.won is True
    assert result.ending.exit_code == 0
    assert result.warned == []
    assert result.told[1] == "game 1.1: you are red, against the white one (white)"
    assert result.told[2].startswith("game 1.1 is over: place ")


async def test_player_hears_everything_in_order_and_in_one_thread() -> None:
    made = Made(First)
    game = Game("1.1", BOARD, COLORS, CLASSIC)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.ask("s", "tournament_start", tournament="t", players=["a", "Pingu"])
        for number in ("1.1", "2.1"):
            game.__init__(number, BOARD, COLORS)  # type: ignore[misc]
            await peer.play(game)
        await peer.end(won=False, winners=("a",))

    await visit(script, made)

    (player,) = made.players
    names = player.names()
    turns = ["place"] * 4 + ["move"] * (names.count("move") // 2)
    assert names[:6] == ["tournament_start", "game_start", *turns[:4]]
    assert names.count("game_start") == names.count("game_end") == 2
    assert names[-2:] == ["game_end", "tournament_end"]
    assert player.heard[0] == ("tournament_start", ["a", "Pingu"])
    assert player.heard[-1] == ("tournament_end", (False, ["a"]))
    assert player.threads == {"Tester 1"}


async def test_view_has_rules_names_events_and_budget() -> None:
    made = Made(First)
    rules = CLASSIC
    ones = type(BOARD).from_json([[1] * 5] * 4)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1", rules, ones)
        game = Game("1.1", ones, COLORS, rules)
        game.begin()
        first = game.request
        assert first is not None
        game.reply((await peer.turn(first, budget_ms=1234))["result"])
        game.reply([0, 1])
        second = game.request
        assert second is not None
        await peer.turn(second, some_new_field="passed over")
        await peer.end()

    await visit(script, made)

    start, first, second = (made.players[0].heard[at][1] for at in range(3))
    assert start.state.turn is Color.RED
    assert start.rules == rules
    assert start.budget_ms == 10_000
    assert first.you is Color.RED
    assert first.state.rules == rules
    assert first.names == {Color.RED: "the red one", Color.WHITE: "the white one"}
    assert first.budget_ms == 1234
    assert 0 < first.time_left_ms() <= 1234
    assert second.events == (Placed(Color.WHITE, (0, 1)),)  # type: ignore[arg-type]
    assert len(second.me.penguins) == 1
    assert [player.color for player in second.opponents] == [Color.WHITE]


async def test_events_are_told_and_unknown_kinds_passed_over() -> None:
    made = Made(First)
    happened = [
        {"seq": 1, "event": {"kind": "place", "color": "white", "at": [0, 1], "new": 1}},
        {"seq": 2, "event": {"kind": "an aurora"}},
        {"seq": 3, "event": {"kind": "eject", "color": "red", "verdict": "?", "phase": "movement"}},
        {
            "seq": 4,
            "event": {
                "kind": "eject",
                "color": "red",
                "verdict": "timeout",
                "phase": "movement",
            },
        },
    ]

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        await peer.notify("events", game="1.1", events=happened)
        await peer.notify("events", game="another", events=happened)
        await peer.end()

    await visit(script, made, events=True)

    told = [detail for what, detail in made.players[0].heard if what == "events"]
    ejected = Ejected(Color.RED, Verdict.TIMEOUT, Phase.MOVEMENT)
    assert told == [("1.1", (Placed(Color.WHITE, (0, 1)), ejected))]  # type: ignore[arg-type]


async def test_call_repeated_gets_the_same_answer_and_is_put_once() -> None:
    made = Made(First)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        first = await peer.turn(request)
        assert await peer.turn(request) == first
        assert await peer.game_start("1.1") == {"jsonrpc": "2.0", "id": "1.1:0", "result": True}
        await peer.end()

    await visit(script, made)

    assert made.players[0].names() == ["game_start", "place", "tournament_end"]


async def test_call_repeated_while_it_is_thought_about_is_answered_once() -> None:
    thinking, go_on = threading.Event(), threading.Event()

    class Slow(First):
        def place(self, view: View) -> Placement:
            thinking.set()
            go_on.wait(10)
            return super().place(view)

    made = Made(Slow)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        await peer.call_turn(request)
        await asyncio.to_thread(thinking.wait, 10)
        await peer.call_turn(request)
        assert (await peer.ask("x", "what"))["error"]["code"] == -32601  # it has read both
        go_on.set()
        assert (await peer.receive())["id"] == request.id
        assert (await peer.end())["id"] == "end"

    await visit(script, made)

    assert made.players[0].names().count("place") == 1


async def test_ping_is_answered_while_the_player_thinks() -> None:
    go_on = threading.Event()

    class Slow(First):
        def place(self, view: View) -> Placement:
            go_on.wait(10)
            return super().place(view)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        await peer.call_turn(request)
        await (await peer.connection.ping())
        go_on.set()
        assert (await peer.receive())["id"] == request.id
        await peer.end()

    await visit(script, Slow)


async def test_several_games_at_once_have_a_player_and_a_thread_each() -> None:
    together = threading.Barrier(3, timeout=10)

    class Waiting(First):
        def place(self, view: View) -> Placement:
            together.wait()
            return super().place(view)

    made = Made(Waiting)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.ask("s", "tournament_start", tournament="t", players=["Pingu"])
        games = [fresh_game(number) for number in ("1.1", "1.2", "1.3")]
        for game in games:
            await peer.game_start(game.id)
        for game in games:
            assert game.request is not None
            await peer.call_turn(game.request)
        assert {(await peer.receive())["id"] for _ in games} == {"1.1:1", "1.2:1", "1.3:1"}
        for game in games:
            for color in COLORS:
                game.fault(color, Fault(Verdict.TIMEOUT, Phase.MOVEMENT, ""))
            await peer.game_end(game)
        await peer.game_start("2.1")
        await peer.end()

    await visit(script, made, max_games=3)

    assert len(made.players) == 3
    assert all(player.names()[0] == "tournament_start" for player in made.players)
    assert all(player.names()[-1] == "tournament_end" for player in made.players)
    assert sorted(player.names().count("game_start") for player in made.players) == [1, 1, 2]
    assert [player.threads for player in made.players] == [
        {"Tester 1"},
        {"Tester 2"},
        {"Tester 3"},
    ]


async def test_server_sends_strange_things_which_are_passed_over() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.notify("weather", wind=3)
        await peer.send("not JSON")
        await peer.send("[1, 2]")
        await peer.send('{"jsonrpc": "2.0", "id": "join", "result": {"protocol": 1}}')
        await peer.notify("game_end", game="1.1", outcome={"ranking": 3}, events=[])
        assert (await peer.ask("7", "sing"))["error"] == {
            "code": -32601,
            "message": "no method 'sing'",
        }
        wrong = await peer.ask("8", "place", game="1.1")
        assert wrong["error"]["code"] == -32602
        assert wrong["error"]["message"].startswith("place: place.params.you: ")
        await peer.end()

    result = await visit(script, First)

    assert result.ending.kind is EndingKind.ENDED


async def test_state_that_cannot_be_is_answered_with_an_error() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        request = fresh_game().request
        assert request is not None
        state = {
            "board": [[1]],
            "players": [{"color": "red", "fish": 0, "tiles": 0, "penguins": [[5, 5]]}],
            "turn": "red",
            "stage": "movement",
            "penguins_each": 1,
        }
        reply = await peer.ask("1.1:9", "move", game="1.1", you="red", state=state, events=[])
        assert reply["error"]["code"] == -32000
        assert "outside the board" in reply["error"]["message"]
        await peer.end()

    result = await visit(script, First)

    assert "reading move failed" in result.reports


# -- what goes wrong in the player's code


async def test_exception_is_answered_as_an_error_and_reported_with_the_state() -> None:
    class Broken(First):
        def place(self, view: View) -> Placement:
            raise ZeroDivisionError("division by\nzero " + "x" * 1000)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        error = (await peer.turn(request))["error"]
        assert error["code"] == -32000
        assert error["message"].startswith("ZeroDivisionError: division by zero x")
        assert len(error["message"]) == 500
        await peer.end()  # it has gone on

    result = await visit(script, Broken)

    report = result.reports
    assert report.startswith("Tester.place() failed in game 1.1:\nTraceback")
    assert 'raise ZeroDivisionError("division by\\nzero "' in report
    assert "turns.py" not in report
    assert "> R red    the red one" in report
    moment = json.loads(report.splitlines()[-1])
    assert moment["you"] == "red"
    assert moment["state"]["board"] == BOARD.to_json()


@pytest.mark.parametrize("hook", ["tournament_start", "game_start", "tournament_end"])
async def test_exception_in_a_hook_is_answered_as_an_error(hook: str) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError("no model")

    player = type("Broken", (First,), {hook: fail})

    async def script(peer: Peer) -> None:
        await peer.join()
        replies = {
            "tournament_start": await peer.ask(
                "s", "tournament_start", tournament="t", players=["a"]
            ),
            "game_start": await peer.game_start("1.1"),
            "tournament_end": await peer.end(),
        }
        for name, reply in replies.items():
            if name == hook:
                assert reply["error"] == {"code": -32000, "message": "RuntimeError: no model"}
            else:
                assert reply["result"] is True

    result = await visit(script, player)

    assert f"Tester.{hook}() failed" in result.reports


async def test_return_value_that_is_no_action_is_an_error_and_says_what_is() -> None:
    class Absent(First):
        def place(self, view: View) -> Placement:
            return None  # type: ignore[return-value]

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        error = (await peer.turn(request))["error"]
        assert error["message"].startswith("BadAnswer: it returned None, and is to return a Place")
        await peer.end()

    result = await visit(script, Absent)

    assert "it returned None" in result.reports
    assert "Traceback" not in result.reports


async def test_illegal_action_is_sent_as_it_is_and_reported() -> None:
    class Wrong(First):
        def place(self, view: View) -> ActionLike:  # type: ignore[override]
            return (9, 9)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        assert (await peer.turn(request))["result"] == [9, 9]
        await peer.eject("1.1")

    made = Made(Wrong)
    result = await visit(script, made)

    assert "[9,9] is outside the board" in result.reports
    assert result.ending.kind is EndingKind.EJECTED
    assert result.ending.exit_code == 3
    assert result.ending.text.splitlines() == [
        "ejected in game 1.1: illegal_action (movement): no red penguin stands on [9,9]",
        "you sent: [[9, 9], [0, 0]]",
        "what to do: Answer with one of the request's legal actions.",
        "more: protocol.md#illegal_action",
    ]
    what, ejection = made.players[0].heard[-1]
    assert what == "ejected"
    assert ejection.verdict == "illegal_action"


async def test_ejection_ends_the_visit_though_the_player_thinks_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_HOOKS_S", 0.05)
    go_on = threading.Event()

    class Slow(First):
        def place(self, view: View) -> Placement:
            go_on.wait(20)
            return super().place(view)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        await peer.call_turn(request)
        await peer.eject("1.1", "timeout")

    began = time.monotonic()
    result = await visit(script, Slow)
    go_on.set()

    assert result.ending.kind is EndingKind.EJECTED
    assert time.monotonic() - began < 10


async def test_ejection_from_one_game_leaves_the_others_and_a_stuck_player_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_HOOKS_S", 0.05)
    go_on = threading.Event()

    class Stuck(First):
        def place(self, view: View) -> Placement:
            if view.game == "1.1":
                go_on.wait(20)
            return super().place(view)

    made = Made(Stuck)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        await peer.call_turn(request)
        await peer.notify(
            "ejected", game="1.1", verdict="timeout", phase="placement", detail="", fix="", link=""
        )
        await peer.game_start("1.2")
        request = fresh_game("1.2").request
        assert request is not None
        assert (await peer.turn(request))["result"] == [0, 0]
        await peer.end(won=False)
        go_on.set()

    result = await visit(script, made)

    assert result.ending.exit_code == 0
    assert len(made.players) == 2


async def test_ejection_told_by_the_close_code_alone() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.connection.close(4000, "flood")

    result = await visit(script, First)

    assert result.ending.exit_code == 3
    assert result.ending.text == "ejected: flood"


async def test_ejection_between_games_ends_the_visit() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.eject(None, "flood")

    made = Made(First)
    result = await visit(script, made)

    assert result.ending.exit_code == 3
    assert result.ending.text.startswith("ejected: flood (movement): ")
    assert made.players[0].names() == ["ejected"]


async def test_game_whose_end_was_not_told_makes_way_for_the_next() -> None:
    made = Made(First)

    async def script(peer: Peer) -> None:
        await peer.join()
        for number in ("1.1", "1.2"):
            await peer.game_start(number)
            request = fresh_game(number).request
            assert request is not None
            assert (await peer.turn(request))["result"] == [0, 0]
        await peer.end()

    await visit(script, made)

    assert len(made.players) == 1


# -- endings


async def test_server_that_vanishes_is_a_lost_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        peer.connection.transport.abort()

    result = await visit(script, First)

    assert result.ending.kind is EndingKind.LOST
    assert result.ending.exit_code == 1
    assert result.ending.text == "the connection was lost: the server is gone"


async def test_server_that_stops_says_why() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.connection.close(1001, "the server stops")

    result = await visit(script, First)

    assert result.ending.exit_code == 1
    assert result.ending.text.endswith("closed with code 1001, the server stops")


async def test_server_that_does_not_close_after_the_end_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_LEAVE_S", 0.05)

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.ask("end", "tournament_end", tournament="t", won=False, winners=[])
        await peer.connection.wait_closed()

    result = await visit(script, First)

    assert result.ending.exit_code == 0
    assert result.ending.text == "the tournament is over; winners: nobody"


# -- rogues


async def test_rogue_garbage_sends_no_json() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        await peer.call_turn(request)
        with pytest.raises(ValueError, match="Expecting"):
            await peer.receive()
        await peer.eject("1.1", "malformed")

    result = await visit(script, lambda: Rogue("garbage", 1))

    assert result.ending.exit_code == 3
    assert result.warned == []


async def test_rogue_silent_says_nothing() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        await peer.call_turn(request)
        assert (await peer.ask("x", "what"))["id"] == "x"  # the first reply is this one's
        await peer.eject("1.1", "timeout")

    result = await visit(script, lambda: Rogue("silent", 1))

    assert result.ending.exit_code == 3


async def test_rogue_vanish_cuts_the_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        await peer.call_turn(request)
        await peer.connection.wait_closed()
        assert peer.connection.close_code == 1006

    result = await visit(script, lambda: Rogue("vanish", 1))

    assert result.ending.exit_code == 1


async def test_rogue_crash_answers_with_an_error() -> None:
    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.game_start("1.1")
        request = fresh_game().request
        assert request is not None
        error = (await peer.turn(request))["error"]
        assert error["message"].startswith("ZeroDivisionError")
        await peer.eject("1.1", "error_reply")

    result = await visit(script, lambda: Rogue("crash", 1))

    assert result.warned == []
