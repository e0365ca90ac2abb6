"""One player of a load: joins, answers whatever it is asked, and measures.

It is no player of the zoo's, which keep all that they were sent and know all the rules: there may
be thousands of these in a process, and what they cost is taken from what can be measured.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from random import Random
from ssl import SSLContext
from typing import Any, Final, cast

from pydantic_core import from_json, to_json
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from croupier_common.messages import PROTOCOL, Join, JoinParams
from croupier_common.session import CloseCode
from croupier_server.load.choice import answer, is_one_fish
from croupier_server.load.figures import Figures
from croupier_server.load.plan import Plan, Visitor

__all__ = ["Common", "LoadPlayer"]

_PATIENCE_S: Final = 30.0
"""For a connection to be opened, and for the answer to a join."""

_QUIET: Final = frozenset({"skip", "lift", "sink"})
"""Events that no player is asked for."""

_OTHERWISE: Final = (ValueError, LookupError, TypeError, AttributeError)
"""What a message raises that is none of the protocol's."""

Message = dict[str, Any]


class _Connect(connect):
    """Goes where it was told to go, and not on to where that server sends it."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


@dataclass(slots=True)
class Common:
    """What all players of a process share.

    Attributes:
        random: what their choices and thinking times are drawn from.
        answered: by game, the number of the last turn that one of them has answered, and when.
        here: by name, the connections of those that have joined.
    """

    plan: Plan
    figures: Figures
    tls: SSLContext | None = None
    random: Random = field(default_factory=Random)
    answered: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])
    here: dict[str, ClientConnection] = field(default_factory=dict[str, ClientConnection])


@dataclass(slots=True)
class _Game:
    """A game that a player is in.

    Attributes:
        key: tells it from all others, of other rooms too.
        one_fish: whether penguins are placed on tiles with one fish only.
        took_s: for the last answer; None before the first.
    """

    key: str
    one_fish: bool
    took_s: float | None = None


class LoadPlayer:
    """A player, from its connection to the end of that."""

    __slots__ = ("_common", "_figures", "_games", "_is_told", "_visitor")

    def __init__(self, visitor: Visitor, common: Common) -> None:
        self._visitor = visitor
        self._common = common
        self._figures = common.figures
        self._is_told = False  # that it is out
        self._games: dict[str, _Game] = {}

    async def visit(self, joining: asyncio.Semaphore) -> None:
        """Join while there is room for it, and play until the connection is closed."""
        async with joining:
            connection = await self._enter()
        if connection is None:
            return
        self._common.here[self._visitor.name] = connection
        try:
            await self._answer_all(connection)
        except ConnectionClosed:
            self._ended(connection)
        except asyncio.CancelledError:
            self._figures.left += 1
            raise
        except _OTHERWISE as problem:
            self._figures.error("message not understood", repr(problem))
        finally:
            del self._common.here[self._visitor.name]
            await connection.close()

    # -- joining

    async def _enter(self) -> ClientConnection | None:
        """A connection that has joined; None if it did not come to that."""
        self._figures.opened += 1
        begun = time.monotonic()
        self._figures.joins.include(begun)
        try:
            connection = await _Connect(
                self._common.plan.url,
                ssl=self._common.tls,
                compression=None,
                ping_interval=None,
                max_size=None,
                proxy=None,
                open_timeout=_PATIENCE_S,
                close_timeout=2,
            )
        except InvalidStatus as refusal:
            status = refusal.response.status_code
            body = bytes(refusal.response.body or b"").decode("utf-8", "replace")
            self._figures.error(f"HTTP {status}", body.strip())
        except (InvalidHandshake, ValueError) as problem:
            self._figures.error("no WebSocket", str(problem))
        except TimeoutError:
            self._figures.error("no connection: timed out")
        except OSError as problem:
            self._figures.error(f"no connection: {(problem.strerror or str(problem)).lower()}")
        else:
            opened = time.monotonic()
            self._figures.durations["connect"].add(opened - begun)
            if await self._has_joined(connection, opened):
                return connection
            await connection.close()
        return None

    async def _has_joined(self, connection: ClientConnection, opened: float) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await connection.send(self._join())
                return self._is_let_in(await connection.recv(decode=False), opened)
        except TimeoutError:
            self._figures.error("join not answered")
        except ConnectionClosed:
            self._ended(connection)
        except _OTHERWISE as problem:
            self._figures.error("message not understood", repr(problem))
        except asyncio.CancelledError:
            await connection.close()
            raise
        return False

    def _is_let_in(self, raw: bytes, opened: float) -> bool:
        """What the answer to the join says."""
        now = time.monotonic()
        message: Message = from_json(raw)
        if error := message.get("error"):
            self._figures.error(f"refused {error['code']}", str(error["message"]))
            return False
        self._figures.joined += 1
        self._figures.joins.include(now)
        self._figures.durations["join"].add(now - opened)
        return True

    def _join(self) -> str:
        visitor = self._visitor
        params = JoinParams(
            protocol=PROTOCOL,
            name=visitor.name,
            room=visitor.room,
            token=visitor.token,
            legal_actions=self._common.plan.legal_actions,
        )
        return Join(jsonrpc="2.0", id="join", params=params).model_dump_json(exclude_none=True)

    # -- playing

    async def _answer_all(self, connection: ClientConnection) -> None:
        while True:
            raw = await connection.recv(decode=False)
            now = time.monotonic()
            message: Message = from_json(raw)
            method = message.get("method")
            if method in {"place", "move"}:
                await self._take_turn(connection, message, now)
            elif method is not None:
                self._note(method, message["params"])
                if "id" in message:
                    await connection.send(_reply(message, True))

    async def _take_turn(self, connection: ClientConnection, call: Message, asked: float) -> None:
        game = self._games[call["params"]["game"]]
        self._look_back(game, call, asked)
        if self._visitor.is_idle:
            self._figures.idle_asked += 1
        result = answer(call, game.one_fish, self._common.random)
        least, most = self._common.plan.think_s
        if most:
            await asyncio.sleep(self._common.random.uniform(least, most))
        reply = _reply(call, result)
        now = time.monotonic()
        game.took_s = now - asked
        self._common.answered[game.key] = (_seq(call), now)
        await connection.send(reply)
        self._figures.turn(now)

    def _look_back(self, game: _Game, call: Message, now: float) -> None:
        """Measure what lies between the last turns and this one."""
        params, durations = call["params"], self._figures.durations
        self._figures.playing.include(now)
        before = self._common.answered.pop(game.key, None)
        if before is not None and _follows(call, before[0]):
            durations["between"].add(now - before[1])
        last = params.get("last")
        if last is not None and game.took_s is not None:
            charged_s = (last["think_ms"] - last.get("stall_ms", 0)) / 1000
            durations["charged"].add(charged_s - game.took_s)
            if "rtt_ms" in last:
                durations["server_rtt"].add(last["rtt_ms"] / 1000)

    def _note(self, method: str, params: Message) -> None:
        """Take in what is no turn."""
        if method == "game_start":
            self._begin(params)
        elif method == "game_end":
            self._forget(params["game"], is_over=True)
            if params.get("outcome") is None:
                self._figures.error("game interrupted", f"game {params['game']}")
        elif method == "ejected":
            self._is_told = not params.get("plays_on")
            self._figures.error(f"ejected {params['verdict']}", str(params["detail"]))
            self._forget(params.get("game", ""))

    def _begin(self, params: Message) -> None:
        # several tables of a practice room may have one id for their games
        names = ",".join(seat["name"] for seat in params["players"])
        game = _Game(
            f"{self._visitor.room or ''}/{params['game']}/{names}", is_one_fish(params["rules"])
        )
        self._games[params["game"]] = game
        self._figures.begun.add(game.key)

    def _forget(self, name: str, *, is_over: bool = False) -> None:
        game = self._games.pop(name, None)
        if game is not None:
            self._common.answered.pop(game.key, None)
            if is_over:
                self._figures.over.add(game.key)

    def _ended(self, connection: ClientConnection) -> None:
        """The connection is closed, and not by us."""
        code, reason = connection.close_code, connection.close_reason or ""
        if code == CloseCode.DONE:
            self._figures.done += 1
        elif code == CloseCode.EJECTED:
            if not self._is_told:
                self._figures.error(f"ejected {reason}")
        else:
            self._figures.error(f"closed {code}", reason or "the connection was lost")


def _reply(call: Message, result: object) -> str:
    return to_json({"jsonrpc": "2.0", "id": call["id"], "result": result}).decode()


def _seq(call: Message) -> int:
    """The number of the event that an answer makes; 0 if the id does not tell."""
    number = str(call["id"]).rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def _follows(call: Message, seq: int) -> bool:
    """Whether nobody was asked between the answer that made that event and this request."""
    since = [told for told in call["params"]["events"] if told["seq"] > seq]
    kinds = {cast("str", told["event"]["kind"]) for told in since}
    return kinds <= _QUIET and _seq(call) == seq + 1 + len(since)
