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
from croupier_client.repro import Reproducer
from croupier_client.team import Team, read_outcome
from croupier_client.turns import Answer, Failed, Vanish, Warn
from croupier_common.errors import NotAMessage
from croupier_common.messages import (
    PROTOCOL,
    Ejection,
    EjectionParams,
    ErrorCode,
    GameEnd,
    GameStart,
    Join,
    Joined,
    JoinParams,
    JoinResult,
    MoveRequest,
    PlaceRequest,
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
_SHORT_S: Final = 1.0
_SHORT_VISITS: Final = 10
"""Connections that last no longer than the above, before it is given up."""

_FOR_GOOD: Final = frozenset(CloseCode) - {CloseCode.INTERNAL, CloseCode.RESTARTING}
"""Close codes after which there is no coming back; without one of them, the network failed."""

_CUT_OFF: Final = frozenset({CloseCode.RESTARTING, 1006})
"""How a connection ends on which a first join was not answered, and yet not refused; 1006 is
websockets' own for one that was lost without a word."""

_RESTART_S: Final = 600.0
"""How long a server that said that it restarts is tried for at least."""

_REMEMBERED: Final = 1024


class Client:
    """A player that visits a server once; :meth:`run` gives how that ended.

    A connection that is lost on the way is taken up again, unseen by the player. A call that comes
    again under its id, answered or not, is not put to the player again: it gets the same answer.

    Args:
        url: the server's.
        target: the kind of player.
        tell: takes lines on how things go.
        warn: takes what the player's author should know: exceptions, illegal and slow answers.
        repro: writes requests on which the player failed into files.
    """

    def __init__(
        self,
        url: str,
        target: Target,
        options: JoinOptions,
        *,
        tell: Callable[[str], None],
        warn: Warn,
        repro: Reproducer | None = None,
    ) -> None:
        self._url = url
        self._options = options
        self._params = options.params()
        self._tell = tell
        self._warn = warn
        self._repro = repro
        self._team = Team(target, warn, options.max_games)
        self._socket: ClientConnection | None = None
        self._joined: JoinResult | None = None
        self._group: asyncio.TaskGroup | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._notices: set[asyncio.Task[None]] = set()
        self._asked: set[str] = set()  # the ids that a player has yet to answer
        self._replies: dict[str, str] = {}  # by id, what was answered
        self._colors: dict[str, Color] = {}  # by game, the player's own
        self._seen: dict[str, int] = {}  # by running game, the last event seen
        self._has_begun = False
        self._has_vanished = False
        self._is_new_again = False  # what was lost was a place in the lobby only
        self._is_unanswered = False  # the connection was closed before the join was answered
        self._retry_s = options.retry_s
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

    # -- one connection after another

    async def _visit(self) -> Ending:
        """All connections of a session, until one ends for good."""
        short = 0
        while True:
            began = time.monotonic()
            ending, can_return = await self._connection()
            if not can_return:
                return ending
            short = short + 1 if time.monotonic() - began < _SHORT_S else 0
            if short > _SHORT_VISITS:
                return ending
            self._warn(f"{ending.text}; going back")
            await asyncio.sleep(0.1 * short)

    async def _connection(self) -> tuple[Ending, bool]:
        """One connection: how it ended, and whether the player can come back."""
        returning = self._joined is not None
        try:
            socket = await open_connection(self._url, retry_s=self._retry_s, tell=self._warn)
        except Unreachable as problem:
            return self._not_back(EndingKind.UNREACHABLE, str(problem), returning), False
        async with socket:
            self._socket = socket
            refused = await self._join(socket, self._joined)
            if refused is None:
                await self._listen(socket)
        if refused is not None and self._is_cut_off(socket, returning):
            return refused, True
        if refused is not None and self._is_new_again:
            self._joined = None
            return refused, True
        if refused is not None:
            return self._not_back(refused.kind, refused.text, returning), False
        can_return = not self._has_vanished and socket.close_code not in _FOR_GOOD
        is_restart = socket.close_code == CloseCode.RESTARTING
        self._retry_s = max(self._options.retry_s, _RESTART_S if is_restart else 0.0)
        return self._ending(socket, can_return), can_return

    def _is_cut_off(self, socket: ClientConnection, returning: bool) -> bool:
        """Whether the server went away in the middle of the join, which is no refusal.

        Who comes for the first time takes any reason that the server gives for a refusal, but for
        its restart: it may be full, or another kind of server.
        """
        if socket.close_code == CloseCode.RESTARTING:
            self._retry_s = max(self._options.retry_s, _RESTART_S)
        if not returning:
            return self._is_unanswered and socket.close_code in _CUT_OFF
        return socket.close_code is not None and socket.close_code not in _FOR_GOOD

    def _not_back(self, kind: EndingKind, text: str, returning: bool) -> Ending:
        """How it ended if the server could not be reached, or would not have the player back."""
        if not returning:
            return Ending(kind, text)
        if self._end is not None:
            return ended(self._end)
        return Ending(
            EndingKind.LOST, f"the connection was lost, and there was no way back: {text}"
        )

    async def _join(self, socket: ClientConnection, before: JoinResult | None) -> Ending | None:
        """Join, or come back to the session before; how it ended if the server won't have it."""
        params, self._is_new_again, self._is_unanswered = self._params, False, False
        if before is not None:
            params = params.model_copy(
                update={"session": before.session, "last_event": self._seen or None}
            )
        answer: object = None
        try:
            await socket.send(self._join_text(params))
            async with asyncio.timeout(_JOIN_S):
                while not isinstance(answer, Joined | Refusal):
                    with contextlib.suppress(NotAMessage):
                        answer = parse_from_server(await socket.recv())
        except TimeoutError:
            return Ending(EndingKind.REFUSED, f"no answer to join within {_JOIN_S:g} s")
        except ConnectionClosed:
            self._is_unanswered = True
            return Ending(EndingKind.REFUSED, f"refused at join: {_closing(socket)}")
        if isinstance(answer, Refusal):
            no_session = answer.error.code == ErrorCode.SESSION
            self._is_new_again = before is not None and no_session and not self._has_begun
            return Ending(EndingKind.REFUSED, f"refused: {printable(answer.error.message, 400)}")
        self._joined = answer.result
        if self._joined.protocol != PROTOCOL:
            return Ending(
                EndingKind.REFUSED,
                f"the server speaks protocol {self._joined.protocol}, and this kit {PROTOCOL}",
            )
        if before is None:
            self._tell(
                f"joined {self._url} as {printable(self._joined.name)}; waiting for the start"
            )
        else:
            self._tell(f"back at {self._url}")
        return None

    @staticmethod
    def _join_text(params: JoinParams) -> str:
        join = Join(jsonrpc="2.0", id=JOIN_ID, params=params)
        return join.model_dump_json(exclude_none=True)

    async def _listen(self, socket: ClientConnection) -> None:
        """Take what comes until the connection is gone."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                self._receive(await socket.recv(), time.monotonic())

    def _ending(self, socket: ClientConnection, can_return: bool) -> Ending:
        out, sent_away = self._ejection, socket.close_code == CloseCode.EJECTED
        if self._end is not None and not can_return:
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
            self._note_turn(message)
            if self._repro is not None:
                self._repro.note(message, raw)
            deadline = received + message.params.budget_ms / 1000
            self._start(self._answer(message, deadline), self._calls)
        elif not isinstance(message, Joined | Refusal):
            if isinstance(message, Ejection):
                if not message.params.plays_on:
                    self._ejection = message.params
                if self._repro is not None:
                    self._repro.ejected(message.params, self._replies.get)
            elif isinstance(message, GameEnd):
                self._seen.pop(message.params.game, None)
                if self._repro is not None:
                    self._repro.forget(message.params.game)
                self._tell_end(message)
            elif message.params.events:
                self._seen[message.params.game] = message.params.events[-1]["seq"]
            self._start(self._team.notify(message), self._notices)

    def _note_turn(self, call: ServerCall) -> None:
        """A request in a game tells all that was before the event which its answer makes."""
        self._has_begun = True
        game, _, seq = call.id.rpartition(":")
        if isinstance(call, GameStart | PlaceRequest | MoveRequest) and seq.isdecimal():
            self._seen[game] = max(int(seq) - 1, 0)

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
            if isinstance(answer, Failed) and self._repro is not None:
                await self._send(text)
                self._repro.failed(call, answer, text)
                return
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
            self._has_vanished = True
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
