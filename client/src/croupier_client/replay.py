"""A player run again on a request that it failed on, as a repro file has it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from croupier_client.errors import ClientError
from croupier_client.loader import Target
from croupier_client.replies import reply_text
from croupier_client.repro import FORMAT
from croupier_client.team import Team
from croupier_client.turns import Answer, Answered, Failed, Silence, Vanish, Warn
from croupier_common.actions import Action, move_from_json, placement_from_json
from croupier_common.board import Board
from croupier_common.errors import FishError, NotAMessage, NotAnAction
from croupier_common.jsontypes import is_object, shown
from croupier_common.messages import (
    GameStart,
    MoveRequest,
    PlaceRequest,
    ServerCall,
    TournamentStart,
    load_json,
    parse_from_server,
)
from croupier_common.notation import state_from_json
from croupier_common.outcome import Color
from croupier_common.render import printable, render
from croupier_common.rules import FISH, Rules
from croupier_common.state import State, why_illegal

__all__ = ["BadRepro", "Replay", "Replayed"]

_MAX_BYTES = 16 << 20

Request = GameStart | PlaceRequest | MoveRequest


class BadRepro(ClientError, ValueError):
    """A file that is no repro file, or can't be read."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it.

    Attributes:
        lines: the same in words.
    """

    is_legal: bool
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """A moment in a game.

    Attributes:
        request: what was asked.
        tournament: how the tournament began, if that is known.
        start: how the game began, if that is known.
        state: the state at that time.
        value: all that the file has.
    """

    request: Request
    tournament: TournamentStart | None
    start: GameStart | None
    state: State
    value: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Replay:
        """The moment in a file.

        Raises:
            BadRepro: it can't be read, or is no repro file.
        """
        try:
            with path.open("rb") as file:  # of any kind: a device's size is no measure
                text = file.read(_MAX_BYTES + 1)
            if len(text) > _MAX_BYTES:
                raise BadRepro(f"{path} is too large for a repro file")
            value = load_json(text)
        except OSError as problem:
            raise BadRepro(f"can't read {path}: {problem.strerror or problem}") from None
        except NotAMessage as problem:
            raise BadRepro(f"{path} is no repro file: {problem}") from None
        if not is_object(value) or "penguin_repro" not in value:
            raise BadRepro(f"{path} is no repro file: it has no 'penguin_repro'")
        if value["penguin_repro"] != FORMAT:
            version = shown(value["penguin_repro"], 20)
            raise BadRepro(f"{path} is of format {version}, and this kit reads format {FORMAT}")
        try:
            return cls._from_json(value)
        except (NotAMessage, FishError, ValueError, TypeError) as problem:
            raise BadRepro(f"{path} is no whole repro file: {problem}") from None

    @classmethod
    def _from_json(cls, value: Mapping[str, Any]) -> Replay:
        request = parse_from_server(json.dumps(value.get("request")))
        told = value.get("game_start")
        start = None if told is None else parse_from_server(json.dumps(told))
        first = value.get("tournament_start")
        tournament = None if first is None else parse_from_server(json.dumps(first))
        if tournament is not None and not isinstance(tournament, TournamentStart):
            raise NotAMessage("its tournament_start is another message")
        if not isinstance(request, Request):
            raise NotAMessage("its request is none of game_start, place and move")
        if start is not None and not isinstance(start, GameStart):
            raise NotAMessage("its game_start is another message")
        rules = FISH if start is None else Rules.from_json(start.params.rules)
        if isinstance(request, GameStart):
            colors = [Color(seat["color"]) for seat in request.params.players]
            state = State.begin(Board.from_json(request.params.board), colors, rules)
        else:
            state = state_from_json(request.params.state, rules)
        return cls(request, tournament, start, state, value)

    def story(self) -> Iterator[str]:
        """What happened then, in lines of text: the board, what was answered, the verdict."""
        params = self.request.params
        yield f"game {printable(params.game)}, {self.request.method}: you are {params.you}"
        seats = () if self.start is None else self.start.params.players
        names = {Color(seat["color"]): seat["name"] for seat in seats}
        yield ""
        yield render(self.state, unicode=False, names=names)
        yield ""
        answered = self.value.get("answered")
        if isinstance(answered, str):
            yield f"then you sent     {printable(answered, 300)}"
        detail = self.value.get("detail")
        verdict = self.value.get("verdict")
        if isinstance(detail, str) and detail and self.value.get("what") != "ejected":
            yield f"what went wrong   {printable(detail, 600)}"
        if is_object(verdict):
            told = f"{verdict.get('verdict')}: {verdict.get('detail')}"
            yield f"the server said   {printable(told, 600)}"
            yield f"what to do        {printable(str(verdict.get('fix')), 300)}"

    async def run(self, target: Target, warn: Warn) -> Replayed:
        """Have a player answer that request, after the game's start if that is another one.

        Raises:
            LoadError: its constructor failed.
        """
        team = Team(target, warn)
        await team.open()
        try:
            for call in (self.tournament, self.start):
                if call is None or call.id == self.request.id:
                    continue
                begun = await team.answer(call, _deadline(call))
                if not isinstance(begun, Answered):
                    return self._judge(begun, f"at {call.method}, before that request, ")
            return self._judge(await team.answer(self.request, _deadline(self.request)))
        finally:
            team.close()

    def _judge(self, answer: Answer, when: str = "") -> Replayed:
        match answer:
            case Failed(message):
                return Replayed(False, (f"now {when}it fails: {printable(message, 600)}",))
            case Silence():
                return Replayed(False, (f"now {when}it does not answer",))
            case Vanish():
                return Replayed(False, (f"now {when}it cuts the connection",))
            case Answered(result):
                return self._judge_result(result)
            case _:
                sent = reply_text(self.request.id, answer) or ""
                return Replayed(False, (f"now {when}it sends {printable(sent, 300)}",))

    def _judge_result(self, result: object) -> Replayed:
        now = f"now it answers    {shown(result, 300)}"
        if isinstance(self.request, GameStart):
            return Replayed(True, (now,))
        try:
            action: Action = (
                placement_from_json(result)
                if isinstance(self.request, PlaceRequest)
                else move_from_json(result)
            )
        except NotAnAction as problem:
            return Replayed(False, (now, f"that is no action: {problem}"))
        if action not in self.state.legal_actions:
            return Replayed(False, (now, why_illegal(self.state, action)))
        return Replayed(True, (now, "that is legal"))


def _deadline(call: ServerCall) -> float:
    return time.monotonic() + call.params.budget_ms / 1000
