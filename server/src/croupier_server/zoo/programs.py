"""The zoo's table: each program, what it does wrong, and its right end.

An end is a verdict, or ``plays on`` where what it does is dropped and harms nobody. Programs that
misbehave in a game do so at their second move, or at their first or second placement, so that the
others have something to lose.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from websockets.exceptions import ConnectionClosed

from croupier_common.verdict import Verdict
from croupier_server.settings import Clocks
from croupier_server.zoo.stray import MOVES, PLACEMENTS, stray_action
from croupier_server.zoo.wire import Call, Habit, Script, Wire, answers, hangs_up, results, silent

__all__ = ["PLAYS_ON", "PROGRAMS", "Program"]

PLAYS_ON: Final = "plays on"

_LATE_S: Final = 1.0
"""Beyond the budget: more than a busy server credits for stalls of its own."""

_REPLY: Final = '{"jsonrpc":"2.0","id":"ID","result":'


@dataclass(frozen=True, slots=True)
class Program:
    """One inhabitant.

    Attributes:
        about: what it does, in a few words.
        habit: does it.
        ends: the ends that are right.
        compression: whether it offers to compress.
    """

    name: str
    about: str
    habit: Habit
    ends: frozenset[str]
    compression: bool = False

    @property
    def script(self) -> Script:
        """The program as a player of that name."""
        return Script(self.name, self.habit, compression=self.compression)


def _once(method: str, act: Callable[[Wire, Call], object], *, after: int = 1) -> Habit:
    """A habit of doing something, once, and then answering right."""

    async def habit(wire: Wire, call: Call) -> bool:
        if call["method"] != method or len(wire.calls(method)) != after + 1:
            return False
        wire.has_acted = True
        done = act(wire, call)
        if asyncio.iscoroutine(done):
            return bool(await done)
        return bool(done)

    return habit


def _stray(method: str, kind: str, *, after: int = 1) -> Habit:
    """A habit of an illegal action, as soon as the state has room for one of that kind."""

    async def habit(wire: Wire, call: Call) -> bool:
        if call["method"] != method or len(wire.calls(method)) <= after:
            return False
        action = stray_action(wire.state(call), kind)
        if action is None:
            return False
        wire.has_acted = True
        await wire.reply(call, action)
        return True

    return habit


async def _slow(_wire: Wire, call: Call) -> bool:
    await asyncio.sleep(call["params"]["budget_ms"] / 1000 * 0.6)
    return False


async def _to_the_tick(_wire: Wire, call: Call) -> bool:
    await asyncio.sleep(call["params"]["budget_ms"] / 1000 + Clocks().latency_allowance_ms / 1000)
    return False


async def _reconnect_storm(wire: Wire, _call: Call) -> bool:
    for _ in range(10):
        await wire.come_back()
    return True


async def _bomb(wire: Wire, call: Call) -> bool:
    """Ten megabytes in ten kilobytes, or too many bytes as they are if nothing is compressed."""
    size = 10_000_000 if wire.connection.protocol.extensions else 100_000
    await wire.send(_REPLY.replace("ID", call["id"]) + " " * size + "1}")
    return True


async def _late(wire: Wire, call: Call) -> bool:
    await asyncio.sleep(call["params"]["budget_ms"] / 1000 + _LATE_S)
    with suppress(ConnectionClosed):
        await wire.reply(call, wire.right_answer(call))
    return True


async def _late_twice(wire: Wire, call: Call) -> bool:
    await _late(wire, call)
    return await _late(wire, call)


async def _two_replies(wire: Wire, call: Call) -> bool:
    await wire.reply(call, wire.right_answer(call))
    await wire.reply(call, [[0, 0], [99, 99]])
    return True


async def _double_key(wire: Wire, call: Call) -> bool:
    right = json.dumps(wire.right_answer(call))
    head = f'{{"jsonrpc":"2.0","id":"{call["id"]}","result":[[0,0],[99,99]],'
    await wire.send(f'{head}"result":{right}}}')
    return True


async def _foreign_id(wire: Wire, _call: Call) -> bool:
    await wire.reply({"id": "999.9:9"}, [[0, 0], [99, 99]])
    return False


async def _old_id(wire: Wire, _call: Call) -> bool:
    old = next(earlier for earlier in wire.received if "id" in earlier and "method" in earlier)
    await wire.reply(old, [[0, 0], [99, 99]])
    return False


async def _guesses_ahead(wire: Wire, call: Call) -> bool:
    await wire.reply(call, wire.right_answer(call))
    game, _, seq = call["id"].rpartition(":")
    for ahead in range(1, 9):
        await wire.reply({"id": f"{game}:{int(seq) + ahead}"}, [[0, 0], [99, 99]])
    return True


async def _moves_and_leaves(wire: Wire, call: Call) -> bool:
    await wire.reply(call, wire.right_answer(call))
    await wire.connection.close()
    return True


async def _half_open(wire: Wire, call: Call) -> bool:
    wire.connection.transport.pause_reading()
    await asyncio.sleep(call["params"]["budget_ms"] / 1000 + 1)
    wire.connection.transport.abort()
    return True


async def _slow_bytes(wire: Wire, call: Call) -> bool:
    """A frame whose bytes come one at a time, more slowly than any budget."""
    body = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": wire.right_answer(call)})
    frame = bytes([0x81, 0x80 | 126]) + len(body).to_bytes(2, "big") + bytes(4) + body.encode()
    pause = call["params"]["budget_ms"] / 1000 / 20
    for byte in frame:
        if wire.connection.transport.is_closing():
            break
        wire.connection.transport.write(bytes([byte]))
        await asyncio.sleep(pause)
    return True


async def _flood(wire: Wire, _call: Call) -> bool:
    with suppress(ConnectionClosed):
        for number in range(5_000):
            await wire.reply({"id": f"flood:{number}"}, 1)
    return False


async def _ping_flood(wire: Wire, _call: Call) -> bool:
    with suppress(ConnectionClosed):
        for _ in range(2_000):
            _ = await wire.connection.ping()
    return True


async def _second_join(wire: Wire, _call: Call) -> bool:
    await wire.ask_to_join({})
    return False


async def _big(wire: Wire, call: Call) -> bool:
    head = _REPLY.replace("ID", call["id"])
    await wire.send(head + " " * (65_537 - len(head) - 1) + "}")
    return True


def _sent(name: str, about: str, text: str | bytes, verdict: Verdict) -> Program:
    return Program(name, about, answers("place", text), frozenset({verdict.value}))


def _turn(
    name: str, about: str, act: Callable[[Wire, Call], object], *ends: str | Verdict
) -> Program:
    return Program(name, about, _once("move", act), frozenset(str(end) for end in ends))


def _kept(name: str, about: str, habit: Habit, *ends: str | Verdict) -> Program:
    return Program(name, about, habit, frozenset(str(end) for end in ends))


PROGRAMS: Final[tuple[Program, ...]] = (
    _kept("silent", "never answers a move", silent("move", after=1), Verdict.TIMEOUT),
    _kept("mute", "never places", silent("place"), Verdict.TIMEOUT),
    _kept("no-start", "never answers game_start", silent("game_start"), Verdict.NO_START),
    _turn("slow", "takes more than half of its time", _slow, PLAYS_ON),
    _turn(
        "to-the-tick",
        "answers when budget and allowance are over",
        _to_the_tick,
        PLAYS_ON,
        Verdict.TIMEOUT,
    ),
    _turn("late", "answers a second too late", _late, Verdict.TIMEOUT),
    _turn("late-again", "answers too late, and once more", _late_twice, Verdict.TIMEOUT),
    _turn("two-replies", "answers twice", _two_replies, PLAYS_ON),
    _turn("double-key", "says its result twice; the last counts", _double_key, PLAYS_ON),
    _turn("foreign-id", "answers what nobody asked, then right", _foreign_id, PLAYS_ON),
    _turn("old-id", "answers an old request again, then right", _old_id, PLAYS_ON),
    _turn("guesses-ahead", "answers requests that are to come", _guesses_ahead, PLAYS_ON),
    *(
        _kept(
            f"illegal-{kind}",
            f"moves against the rules: {kind}",
            _stray("move", kind),
            Verdict.ILLEGAL_ACTION,
        )
        for kind in MOVES
    ),
    *(
        _kept(
            f"places-{kind}",
            f"places against the rules: {kind}",
            _stray("place", kind),
            Verdict.ILLEGAL_ACTION,
        )
        for kind in PLACEMENTS
    ),
    _sent("not-json", "sends words", "forward, march", Verdict.MALFORMED),
    _sent("truncated", "sends half a reply", _REPLY + "[0,", Verdict.MALFORMED),
    _sent("nan", "sends NaN", _REPLY + "[NaN,0]}", Verdict.MALFORMED),
    _sent("deep", "sends 30,000 brackets", _REPLY + "[" * 30_000, Verdict.MALFORMED),
    _sent(
        "huge-number", "sends 5,000 digits", _REPLY + "[" + "9" * 5_000 + ",0]}", Verdict.MALFORMED
    ),
    _sent("surrogate", "sends half a character", _REPLY + '"\\ud800"}', Verdict.MALFORMED),
    _sent("boolean", "sends true for a number", _REPLY + "[true,false]}", Verdict.MALFORMED),
    _sent("float", "sends 0.0 for 0", _REPLY + "[0.0,0.0]}", Verdict.MALFORMED),
    _sent("batch", "sends an array of replies", f"[{_REPLY}[0,0]}}]", Verdict.MALFORMED),
    _sent("unknown-field", "adds a field", _REPLY + '[0,0],"extra":1}', Verdict.MALFORMED),
    _sent("binary", "sends a binary frame", b"\x00\x01", Verdict.MALFORMED),
    _kept(
        "whole-state",
        "answers with a new state",
        results("move", {"board": [[1]]}, after=1),
        Verdict.MALFORMED,
    ),
    _kept(
        "error",
        "answers with an error",
        answers(
            "move",
            '{"jsonrpc":"2.0","id":"ID","error":{"code":1,"message":"boom"}}',
            after=1,
        ),
        Verdict.ERROR_REPLY,
    ),
    _turn("second-join", "joins again in mid-game", _second_join, Verdict.MALFORMED),
    _turn("oversize", "sends one byte more than allowed", _big, Verdict.OVERSIZE),
    Program(
        "bomb",
        "sends what is small compressed, and large unpacked",
        _once("move", _bomb),
        frozenset({Verdict.OVERSIZE.value}),
        compression=True,
    ),
    _turn("flood", "sends 5,000 replies to nothing", _flood, Verdict.FLOOD),
    _turn("ping-flood", "sends 2,000 pings", _ping_flood, Verdict.FLOOD),
    _turn("slow-bytes", "sends its reply byte by byte", _slow_bytes, Verdict.TIMEOUT),
    _kept(
        "hangs-up",
        "closes the connection at a move",
        hangs_up("move", after=1),
        Verdict.DISCONNECTED,
    ),
    _turn(
        "moves-and-leaves", "moves, then closes at once", _moves_and_leaves, Verdict.DISCONNECTED
    ),
    _turn(
        "reconnect-storm",
        "comes back ten times while it is asked, then answers",
        _reconnect_storm,
        PLAYS_ON,
    ),
    _turn(
        "half-open", "reads no more, and is gone", _half_open, Verdict.TIMEOUT, Verdict.DISCONNECTED
    ),
)
"""All of them that join."""
