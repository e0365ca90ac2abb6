"""A visit to a server: join, answer what is asked, and go when it is over."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from croupier_client.connecting import Unreachable, open_connection
from croupier_client.ending import Ending, EndingKind, ejected, ended
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target
from croupier_client.replies import reply_text, unknown_text
from croupier_client.team import Team, read_outcome
from croupier_client.turns import Answer, Vanish, Warn
from croupier_common.errors import NotAMessage
from croupier_common.messages import (
    PROTOCOL,
    Ejection,
    EjectionParams,
    GameEnd,
    GameStart,
    Join,
    Joined,
    JoinResult,
    Refusal,
    ServerCall,
    TournamentEnd,
    TournamentEndParams,
    parse_from_server,
)
from croupier_common.outcome import Color
from croupier_common.render import printable
from croupier_common.session import CloseCode

__all__ = ["Client"]

JOIN_ID: Final = "join"
_JOIN_S: Final = 30.0
_LEAVE_S: Final = 10.0
_HOOKS_S: Final = 1.0
_REMEMBERED: Final = 1024


class Client:
    """A player that visits a server once; :meth:`run` gives how that ended.

    A call that comes again under its id, answered or not, is not put to the player again: it gets
    the same answer.

    Args:
        url: the server's.
        target: the kind of player.
        tell: takes lines on how things go.
        warn: takes what the player's author should know: exceptions, illegal and slow answers.
    """

    def __init__(
        self,
        url: str,
        target: Target,
        options: JoinOptions,
        *,
        tell: Callable[[str], None],
        warn: Warn,
    ) -> None:
        self._url = url
        self._options = options
        self._params = options.params()
        self._tell = tell
        self._warn = warn
        self._team = Team(target, warn, options.max_games)
        self._socket: ClientConnection | None = None
        self._joined: JoinResult | None = None
        self._group: asyncio.TaskGroup | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._notices: set[asyncio.Task[None]] = set()
        self._asked: set[str] = set()  # the ids that a player has yet to answer
        self._replies: dict[str, str] = {}  # by id, what was answered
        self._colors: dict[str, Color] = {}  # by game, the player's own
        self._ejection: EjectionParams | None = None
        self._end: TournamentEndParams | None = None

    async def run(self) -> Ending:
        """Connect, join, play, and leave.

        Raises:
            LoadError: the player's constructor failed; nothing was sent.
        """
        try:
            await self._team.open()
            async with asyncio.TaskGroup() as self._group:
                try:
                    ending = await self._visit()
                    if self._notices:  # the player is to hear why it is out
                        await asyncio.wait(self._notices, timeout=_HOOKS_S)
                    return ending
                finally:  # players that think on have nobody to tell any more
                    for task in self._calls | self._notices:
                        task.cancel()
        finally:
            self._team.close()

    # -- one connection after another; there is one as yet

    async def _visit(self) -> Ending:
        """All connections of a session: here a lost one is to be taken up again, by `session`."""
        try:
            socket = await open_connection(
                self._url, retry_s=self._options.retry_s, tell=self._warn
            )
        except Unreachable as problem:
            return Ending(EndingKind.UNREACHABLE, str(problem))
        async with socket:
            self._socket = socket
            refused = await self._join(socket)
            if refused is None:
                await self._listen(socket)
        return refused or self._ending(socket)

    async def _join(self, socket: ClientConnection) -> Ending | None:
        """Join; how it ended if the server would not have it."""
        join = Join(jsonrpc="2.0", id=JOIN_ID, params=self._params)
        answer: object = None
        try:
            await socket.send(join.model_dump_json(exclude_none=True))
            async with asyncio.timeout(_JOIN_S):
                while not isinstance(answer, Joined | Refusal):
                    with contextlib.suppress(NotAMessage):
                        answer = parse_from_server(await socket.recv())
        except TimeoutError:
            return Ending(EndingKind.REFUSED, f"no answer to join within {_JOIN_S:g} s")
        except ConnectionClosed:
            return Ending(EndingKind.REFUSED, f"refused at join: {_closing(socket)}")
        if isinstance(answer, Refusal):
            return Ending(EndingKind.REFUSED, f"refused: {printable(answer.error.message, 400)}")
        self._joined = answer.result
        if self._joined.protocol != PROTOCOL:
            return Ending(
                EndingKind.REFUSED,
                f"the server speaks protocol {self._joined.protocol}, and this kit {PROTOCOL}",
            )
        self._tell(f"joined {self._url} as {printable(self._joined.name)}; waiting for the start")
        return None

    async def _listen(self, socket: ClientConnection) -> None:
        """Take what comes until the connection is gone."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                self._receive(await socket.recv(), time.monotonic())

    def _ending(self, socket: ClientConnection) -> Ending:
        out, sent_away = self._ejection, socket.close_code == CloseCode.EJECTED
        if self._end is not None:
            return ended(self._end)
        if out is not None and (sent_away or out.game is None):
            return ejected(out)
        if sent_away:
            return Ending(EndingKind.EJECTED, f"ejected: {printable(socket.close_reason or '')}")
        return Ending(EndingKind.LOST, f"the connection was lost: {_closing(socket)}")

    # -- one message

    def _receive(self, raw: str | bytes, received: float) -> None:
        """Note what a message says, and leave to a task whatever takes time."""
        try:
            message = parse_from_server(raw)
        except NotAMessage as problem:
            text = unknown_text(raw, str(problem))
            if text is not None:
                self._start(self._send(text), self._calls)
            return
        if isinstance(message, ServerCall):
            deadline = received + message.params.budget_ms / 1000
            self._start(self._answer(message, deadline), self._calls)
        elif not isinstance(message, Joined | Refusal):
            if isinstance(message, Ejection):
                self._ejection = message.params
            elif isinstance(message, GameEnd):
                self._tell_end(message)
            self._start(self._team.notify(message), self._notices)

    def _start(self, work: Coroutine[None, None, None], among: set[asyncio.Task[None]]) -> None:
        if self._group is None:
            raise RuntimeError("messages are taken while run() runs")
        task = self._group.create_task(work)
        among.add(task)
        task.add_done_callback(among.discard)

    async def _answer(self, call: ServerCall, deadline: float) -> None:
        if call.id in self._asked:
            return
        if call.id not in self._replies:
            if isinstance(call, GameStart):
                self._tell_start(call)
            self._asked.add(call.id)
            answer = await self._team.answer(call, deadline)
            self._asked.discard(call.id)
            text = reply_text(call.id, answer)
            if text is None:
                self._misbehave(answer)
                return
            self._remember(call.id, text)
        if isinstance(call, TournamentEnd):
            self._end = call.params
        await self._send(self._replies[call.id])
        if isinstance(call, TournamentEnd):
            await self._leave()

    async def _leave(self) -> None:
        """The server closes the connection now; if it doesn't, we do."""
        await asyncio.sleep(_LEAVE_S)
        if self._socket is not None:
            await self._socket.close()

    def _remember(self, call_id: str, text: str) -> None:
        self._replies[call_id] = text
        while len(self._replies) > _REMEMBERED:
            del self._replies[next(iter(self._replies))]

    async def _send(self, text: str) -> None:
        if self._socket is not None:
            with contextlib.suppress(ConnectionClosed):  # whoever listens finds out
                await self._socket.send(text)

    def _misbehave(self, answer: Answer) -> None:
        if isinstance(answer, Vanish) and self._socket is not None:
            self._socket.transport.abort()

    # -- words

    def _tell_start(self, call: GameStart) -> None:
        game, you = call.params.game, Color(call.params.you)
        self._colors[game] = you
        others = [
            f"{printable(seat['name'])} ({seat['color']})"
            for seat in call.params.players
            if seat["color"] != you
        ]
        self._tell(f"game {printable(game)}: you are {you}, against {', '.join(others)}")

    def _tell_end(self, message: GameEnd) -> None:
        game = message.params.game
        you, outcome = self._colors.pop(game, None), read_outcome(message.params.outcome)
        if message.params.outcome is None:
            self._tell(f"game {printable(game)} was interrupted by the server, and doesn't count")
        if you is None or outcome is None:
            return
        place = outcome.place(you)
        told = "ejected" if place is None else f"place {place}, {outcome.fish.get(you)} fish"
        self._tell(f"game {printable(game)} is over: {told}")


def _closing(socket: ClientConnection) -> str:
    """How a connection ended, in words."""
    code, reason = socket.close_code, printable(socket.close_reason or "", 120)
    if code is None or code == 1006:
        return "the server is gone"
    return f"closed with code {code}" + (f", {reason}" if reason else "")
