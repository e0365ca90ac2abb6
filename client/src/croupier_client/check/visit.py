"""One player's visit to a check: join, calls and answers, judged as a server judges them."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from croupier_client import __version__
from croupier_client.check.links import Link, LinkLost
from croupier_client.check.results import Failed, Log
from croupier_common.errors import NotAMessage
from croupier_common.hello import HELLO_ID, Hello, HelloParams, options_from_hello
from croupier_common.jsontypes import shown
from croupier_common.messages import (
    MAX_MESSAGE,
    PROTOCOL,
    ErrorCode,
    Joined,
    JoinParams,
    JoinResult,
    Refusal,
    RefusalBody,
    Reply,
    parse_from_player,
)
from croupier_common.programs import PRINT_HINT, looks_printed
from croupier_common.session import Answered, Dropped, JoinAsked, Misbehaved, Session
from croupier_common.verdict import Phase, Verdict

__all__ = ["NewAgain", "Visit", "dump", "is_silence", "notification"]

_JOIN_S: Final = 10.0
_ALLOWANCE_S: Final = 0.1
_PATIENCE_S: Final = 1.0
"""After the time is over, how long is waited for an answer, so as to say how late it is."""

_STARTS: Final = frozenset({"tournament_start", "game_start"})
_PHASES: Final = {
    "tournament_start": Phase.TOURNAMENT_START,
    "game_start": Phase.GAME_START,
    "place": Phase.PLACEMENT,
    "move": Phase.MOVEMENT,
    "tournament_end": Phase.TOURNAMENT_END,
}

_SILENCE: Final = "there was no answer"


class NewAgain(Exception):
    """A player came again as somebody new."""


class Visit:
    """A player that has connected.

    Args:
        budget_ms: the time for an answer.
        over_stdio: whether it is greeted as a program is, instead of joining.

    Attributes:
        params: what it said at join.
        token: its session's.
        has_joined: whether it was let in.
        has_begun: whether it was told of the tournament's start.
        has_ended: whether it was told of its end.
        log: takes what is sent and received.
        warnings: what a server passes over, and its author should know; whoever reads them takes
            them away.
        times_ms: by method, how long each answer took.
    """

    def __init__(self, link: Link, log: Log, budget_ms: int, *, over_stdio: bool = False) -> None:
        self.link = link
        self.budget_ms = budget_ms
        self.over_stdio = over_stdio
        self.token = secrets.token_urlsafe(12)
        self.params = JoinParams(protocol=PROTOCOL, name="Check")
        self.has_joined = False
        self.has_begun = False
        self.has_ended = False
        self.warnings: list[tuple[str, str]] = []
        self.times_ms: dict[str, list[int]] = {}
        self.log = log
        self._session = Session()
        self._join_id: str | int = ""
        self._refused_id: str | int | None = None
        self._refusal = int(ErrorCode.INVALID_REQUEST)
        self._asks_to_join = False
        self._asked: dict[str, tuple[str, float, int]] = {}  # by id: method, when, budget
        self._came: dict[str, tuple[Reply, float]] = {}
        self._answered: set[str] = set()
        self._strays: list[str] = []  # ids of replies that answer nothing we ever asked
        self._last_ms: dict[str, int] = {}

    @property
    def phase(self) -> Phase:
        """When the player is let go: the phase of what it was asked last."""
        asked = (_PHASES[m] for m, _, _ in reversed(self._asked.values()) if m in _PHASES)
        return next(asked, Phase.TOURNAMENT)

    # -- the beginning

    async def join(self) -> None:
        """Have it join, and let it; a program is greeted instead.

        Raises:
            Failed: it does not, or not as it should.
        """
        await self.hear_join()
        if not self.has_joined:
            await self.accept()

    async def hear_join(self) -> None:
        """Have it say who it is.

        Raises:
            Failed: it does not, or not as it should.
        """
        if self._asks_to_join or self.has_joined:
            return
        if self.over_stdio:
            await self._greet()
        else:
            await self._take_join()

    async def _take_join(self) -> JoinAsked:
        raw = await self._receive(_JOIN_S)
        if raw is None:
            raise Failed(
                f"it did not send join within {_JOIN_S:g} s",
                "Send join as soon as the connection is open.",
                breaks=True,
            )
        asked = self._session.receive(raw)
        if not isinstance(asked, JoinAsked):
            if isinstance(asked, Misbehaved):
                self._refused_id, self._refusal = asked.rejected.id, asked.rejected.code
            detail = getattr(asked, "detail", "a reply, and no join")
            raise Failed(
                f"its first message is no join: {detail}",
                'Send {"jsonrpc": "2.0", "id": 1, "method": "join", "params": {"protocol": 1, '
                '"name": "..."}} first; see "Joining" in protocol.md.',
                verdict=None,
                breaks=True,
            )
        self.params, self._join_id = asked.params, asked.id
        self._refused_id = asked.id
        self._asks_to_join = True
        return asked

    async def accept(self, extra: Mapping[str, object] | None = None) -> None:
        """Let it join."""
        methods = ("tournament_start", "game_start", "place", "move", "tournament_end")
        result = JoinResult(
            protocol=PROTOCOL,
            server=f"penguin check {__version__}",
            session=self.token,
            name=self.params.name,
            max_message=MAX_MESSAGE,
            budgets_ms=dict.fromkeys(methods, self.budget_ms),
        )
        message = Joined(id=self._join_id, result=result).model_dump()
        message["result"].update(extra or {})
        self._session.joined()
        self.has_joined = True
        await self.send(message)

    async def refuse(self, text: str, code: int | None = None) -> None:
        """Do not let it join; without a code, for what is wrong with its join."""
        error = RefusalBody(code=self._refusal if code is None else code, message=text)
        await self.send(Refusal(id=self._refused_id, error=error).model_dump_json())
        await self.link.close(4001, "join refused")

    async def _greet(self) -> None:
        hello = Hello(params=HelloParams(protocol=PROTOCOL, name=self.params.name))
        await self.send(hello.text())
        raw = await self._receive(_JOIN_S)
        hint = (
            'Answer hello with {"jsonrpc": "2.0", "id": "hello", "result": {}}, end each line '
            "with a newline, and flush it."
        )
        if raw is None:
            raise Failed(f"it did not answer hello within {_JOIN_S:g} s", hint, breaks=True)
        try:
            said = parse_from_player(raw)
            if not isinstance(said, Reply) or said.id != HELLO_ID:
                raise NotAMessage(f"its id is not {HELLO_ID!r}")
            if said.error is not None:
                raise NotAMessage(f"error {said.error.code}: {said.error.message}")
            self.params = options_from_hello(said.result, self.params.name)
        except NotAMessage as problem:
            if isinstance(raw, str) and looks_printed(raw):
                hint = PRINT_HINT
            raise Failed(
                f"its first line is no answer to hello: {problem}", hint, breaks=True
            ) from None
        self._session.joined()
        self.has_joined = True

    async def begin(self, names: Sequence[str] = ("Check", "First", "Random")) -> None:
        """Begin the tournament.

        Raises:
            Failed: it does not answer with true.
        """
        names = [self.params.name if name == "Check" else name for name in names]
        self.has_begun = True
        await self.ask_true("start", "tournament_start", {"tournament": "check", "players": names})

    async def come_back(self, link: Link) -> None:
        """It has connected anew: have it join with its session.

        Raises:
            Failed: it joins with another session, or not at all.
            NewAgain: it joins without a session.
        """
        self.link, self._session = link, Session()
        asked = await self._take_join()
        if asked.params.session is None:
            raise NewAgain
        if asked.params.session != self.token:
            raise Failed(
                f"it came back with session {shown(asked.params.session, 60)}, not with "
                f"{self.token!r}",
                "Keep result.session of the first join, and send it as params.session when you "
                "connect again.",
                breaks=True,
            )
        await self.accept()

    async def end(self) -> None:
        """End the tournament.

        Raises:
            Failed: it does not answer with true.
        """
        self.has_ended = True
        end = {"tournament": "check", "won": True, "winners": [self.params.name]}
        await self.ask_true("end", "tournament_end", end)

    # -- calls

    async def ask(self, call_id: str, method: str, params: Mapping[str, Any]) -> Any:
        """Ask something, and give the result.

        Raises:
            Failed: there is none in time, or not as it should be.
        """
        await self.post(call_id, method, params)
        return await self.answer(call_id)

    async def ask_true(self, call_id: str, method: str, params: Mapping[str, Any]) -> None:
        """Ask something that is answered with true.

        Raises:
            Failed: it is not.
        """
        result = await self.ask(call_id, method, params)
        if result is not True:
            raise Failed(
                f"{method} is answered with true, not {shown(result, 60)}",
                verdict=Verdict.MALFORMED,
            )

    async def post(self, call_id: str, method: str, params: Mapping[str, Any]) -> None:
        """Ask something, and don't wait for the answer."""
        message = self.request(call_id, method, params)
        await self.send(message)

    def request(self, call_id: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A request, which is open from now on; send it."""
        params = {"budget_ms": self.budget_ms, **params}
        self._session.asked(call_id)
        self._asked[call_id] = (method, time.monotonic(), params["budget_ms"])
        return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}

    async def answer(self, call_id: str) -> Any:
        """The result in the answer to something that was asked.

        Raises:
            Failed: there is none in time, or not as it should be.
        """
        reply = await self.reply(call_id)
        if reply.error is not None:
            raise Failed(
                f"it answers with error {reply.error.code}: {reply.error.message[:300]}",
                verdict=Verdict.ERROR_REPLY,
            )
        return reply.result

    async def reply(self, call_id: str) -> Reply:
        """The reply to something that was asked, be it an error.

        Raises:
            Failed: there is none in time.
        """
        method, asked, budget_ms = self._asked[call_id]
        late = Verdict.NO_START if method in _STARTS else Verdict.TIMEOUT
        limit = asked + budget_ms / 1000 + _ALLOWANCE_S
        patience = min(_PATIENCE_S, budget_ms / 2000)
        while call_id not in self._came:
            try:
                raw = await self._receive(max(limit + patience - time.monotonic(), 0.001))
            except Failed as lost:
                raise Failed(
                    f"{lost}, and {method} was not answered", verdict=lost.verdict, breaks=True
                ) from None
            if raw is None:
                self._answered.add(call_id)  # should it come yet
                raise self._unanswered(call_id, late)
            self._take(raw)
        reply, came = self._came.pop(call_id)
        self._answered.add(call_id)
        took_ms = round((came - asked) * 1000)
        self._last_ms[method] = took_ms
        self.times_ms.setdefault(method, []).append(took_ms)
        self._warn_of_strays()
        if came > limit:
            raise Failed(
                f"the answer to {method} came after {took_ms} ms, and its budget is {budget_ms} ms",
                verdict=late,
            )
        return reply

    def _unanswered(self, call_id: str, verdict: Verdict) -> Failed:
        """What is wrong if no answer came: its id may be wrong."""
        method, _, budget_ms = self._asked[call_id]
        if self._strays:
            return Failed(
                f"its reply has id {self._strays[-1]}, and the request's is {json.dumps(call_id)}",
                "Send the request's id back as it is: the same string.",
                verdict=verdict,
                breaks=True,
            )
        return Failed(f"{_SILENCE} to {method} within {budget_ms} ms", verdict=verdict, breaks=True)

    def last_ms(self, method: str) -> int | None:
        """How long the last answer to that took."""
        return self._last_ms.get(method)

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Say something that is not answered."""
        await self.send(notification(method, params))

    async def send(self, *messages: Mapping[str, Any] | str) -> None:
        """Send messages, one behind the other.

        Raises:
            Failed: it has left.
        """
        for message in messages:
            text = message if isinstance(message, str) else dump(message)
            self.log.sent(text)
            try:
                await self.link.send(text)
            except LinkLost as lost:
                raise _left(lost) from None

    async def send_split(self, message: Mapping[str, Any]) -> None:
        """Send a message in pieces."""
        text = dump(message)
        self.log.sent(text)
        try:
            await self.link.send_split(text)
        except LinkLost as lost:
            raise _left(lost) from None

    async def quiet(self, seconds: float, hint: str) -> None:
        """Wait a moment, in which it is to send nothing.

        Raises:
            Failed: it sends something.
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            raw = await self._receive(left)
            if raw is not None:
                self._take(raw)
                self._strays.clear()
                raise Failed(f"it sends something unasked: {shown(raw, 200)}", hint)

    # -- what comes

    async def _receive(self, seconds: float) -> str | bytes | None:
        try:
            async with asyncio.timeout(seconds):
                raw = await self.link.receive()
        except TimeoutError:
            return None
        except LinkLost as lost:
            if lost.raw:
                self.log.received(lost.raw)
            raise _left(lost) from None
        self.log.received(raw)
        return raw

    def _take(self, raw: str | bytes) -> None:
        """Judge what came as a server does."""
        received = self._session.receive(raw)
        if isinstance(received, Answered):
            self._came[received.id] = (received.reply, time.monotonic())
        elif isinstance(received, Dropped):
            self._dropped(received.id)
        else:
            detail = getattr(received, "detail", "a second join")
            printed = self.over_stdio and isinstance(raw, str) and looks_printed(raw)
            raise Failed(
                f"it sends what is no reply: {detail}",
                PRINT_HINT if printed else "",
                verdict=Verdict.MALFORMED,
            )

    def _dropped(self, shown_id: str) -> None:
        if any(shown(call_id, 60) == shown_id for call_id in self._answered):
            self.warnings.append(
                (
                    f"it replies a second time to {shown_id}; a server drops that",
                    "Send one reply to each request.",
                )
            )
        else:
            self._strays.append(shown_id)

    def _warn_of_strays(self) -> None:
        """The answer has come, and beside it replies to nothing, which a server drops."""
        hint = "Reply only to a message that has an id, and with that id; game_end has none."
        for stray in self._strays:
            told = f"it replies to {stray}, which nobody asked; a server drops that"
            self.warnings.append((told, hint))
        self._strays.clear()


def is_silence(problem: Failed) -> bool:
    """Whether it is that an answer was waited for in vain, which takes long."""
    return str(problem).startswith(_SILENCE)


def notification(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A message that is not answered."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def dump(message: Mapping[str, Any]) -> str:
    """A message as text."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def _left(lost: LinkLost) -> Failed:
    return Failed(str(lost), verdict=lost.verdict, breaks=True)
