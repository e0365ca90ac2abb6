"""What the players of the transcripts do: each of the phases, and every way to be sent away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from croupier_common.notation import state_from_json
from croupier_common.rules import Rules
from croupier_common.strategies import make
from transcript_table import SESSION, Connection, Line

__all__ = ["SCENES", "Ada", "Scene"]

SMALL: Final = [[0, 2, 1, 3, 0], [1, 3, 2, 1, 0], [2, 1, 1, 3, 2]]
LONG: Final = [[1, 2, 1], [1, 1, 3], [2, 1, 1], [1, 4, 1], [1, 1, 2], [3, 1, 1]]
BEN: Final = {"name": "Ben", "joins": "after", "plays": "first"}
SHORT_MS: Final = 300

Act = Callable[["Ada"], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """A transcript to be: what it shows, what the player does, and who and what is there.

    Attributes:
        honest: whether its player does nothing wrong, so that any player can be put in its place.
    """

    about: str
    act: Act
    honest: bool = False
    join: Mapping[str, Any] = field(default_factory=dict[str, Any])
    others: tuple[Mapping[str, str], ...] = (BEN,)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def head(self) -> Line:
        """The transcript's first line."""
        players = len(self.others) + 1
        settings: dict[str, dict[str, Any]] = {
            "lobby": {"min_players": players, "max_players": players, "wait_ms": 20_000},
            "clocks": {"no_clock": [other["name"] for other in self.others]},
            "game": {"rules": "fish", "board": {"tiles": SMALL}},
            "tournament": {"name": "example", "seed": 1},
        }
        for section, values in self.settings.items():
            settings.setdefault(section, {}).update(values)
        return {
            "from": "note",
            "about": self.about,
            "honest": self.honest,
            "settings": settings,
            "others": [dict(other) for other in self.others],
        }


class Ada:
    """The player that is written down."""

    def __init__(self, connection: Connection, join: Mapping[str, Any]) -> None:
        self.connection = connection
        self.last_call: dict[str, Any] = {}
        self._join = join
        self._rules: dict[str, Rules] = {}

    async def joins(self, **params: Any) -> dict[str, Any] | None:
        """Connect and ask to join; gives the answer."""
        await self.connection.connect()
        join = {"protocol": 1, "name": "Ada", **self._join, **params}
        await self.connection.send(
            {"jsonrpc": "2.0", "id": "join", "method": "join", "params": join}
        )
        return await self.connection.hear()

    async def says_first(self, message: str | dict[str, Any] | None) -> None:
        """Connect, say something (or nothing), and hear until the server closes."""
        await self.connection.connect()
        if isinstance(message, str):
            await self.connection.send_raw(message)
        elif message is not None:
            await self.connection.send(message)
        await self.hears_out()

    async def plays_until(self, method: str | None, *, times: int = 1) -> dict[str, Any]:
        """Answer right until the server calls a method for that time, or closes; gives the call."""
        while (message := await self.connection.hear()) is not None:
            if message.get("method") == "game_start":
                params = message["params"]
                self._rules[params["game"]] = Rules.from_json(params["rules"])
            if message.get("method") == method:
                times -= 1
            if times == 0:
                self.last_call = message
                return message
            if "method" in message and "id" in message:
                await self.replies(message, self._right_answer(message))
        return {}

    async def replies(self, call: Mapping[str, Any], result: object) -> None:
        """Answer a call."""
        await self.connection.send({"jsonrpc": "2.0", "id": call["id"], "result": result})

    async def plays_out(self) -> None:
        """Answer right until the server closes."""
        await self.plays_until(None)

    async def hears_out(self) -> None:
        """Hear until the server closes, and answer nothing."""
        while await self.connection.hear() is not None:
            pass

    async def is_away_until_ejected(self) -> None:
        """Be away until it is out, then come back to hear why."""
        await self.connection.wait_for_ejection(
            {
                "from": "note",
                "text": "The player is away until the others hear that it is out.",
                "until": "ejected",
                "wait_ms": 4 * SHORT_MS,
            }
        )
        await self.joins(session=SESSION)
        await self.hears_out()

    def _right_answer(self, call: Mapping[str, Any]) -> object:
        if call["method"] not in {"place", "move"}:
            return True
        params = call["params"]
        state = state_from_json(params["state"], self._rules[params["game"]])
        return make("first", seed=0).choose(state).to_json()


# -- what a player does


async def play_all(ada: Ada) -> None:
    """Nothing wrong, to the end."""
    await ada.joins()
    await ada.plays_out()


async def come_back(ada: Ada) -> None:
    """Lose the connection while a move is asked for, and come back."""
    await ada.joins()
    await ada.plays_until("move", times=2)
    await ada.connection.close(None)
    ada.connection.note(
        {
            "from": "note",
            "text": "The connection is lost. The clock of the open request runs on; the player "
            "comes back at once, and is asked again under the same id.",
        }
    )
    game, _, seq = ada.last_call["id"].rpartition(":")
    await ada.joins(session=SESSION, last_event={game: int(seq) - 1})
    await ada.plays_out()


async def be_refused(ada: Ada) -> None:
    """Ask to join in every wrong way."""
    join: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "join"}
    good = {"protocol": 1, "name": "Ada"}
    await ada.says_first("hello")
    await ada.says_first({"jsonrpc": "2.0", "id": "1.1:1", "result": True})
    await ada.says_first({**join, "method": "play", "params": good})
    await ada.says_first({**join, "params": {"protocol": 1}})
    await ada.says_first({**join, "params": {**good, "color": "red"}})
    await ada.says_first({**join, "params": {**good, "room": "cellar"}})
    await ada.says_first({**join, "params": {**good, "protocol": 2}})
    await ada.says_first({**join, "params": {**good, "name": " Ada"}})
    await ada.says_first({**join, "params": {**good, "name": "ben"}})
    await ada.says_first({**join, "params": {**good, "session": "no-such-session"}})
    ada.connection.note({"from": "note", "text": "The player connects and says nothing."})
    await ada.says_first(None)


async def be_too_late(ada: Ada) -> None:
    """Ask to join when the tournament has started."""
    await ada.joins()
    await ada.hears_out()


def replying(method: str, result: object) -> Act:
    """Answer a call with a result that is wrong."""

    async def act(ada: Ada) -> None:
        await ada.joins()
        await ada.replies(await ada.plays_until(method), result)
        await ada.hears_out()

    return act


def sending(method: str, *raws: str) -> Act:
    """Answer a call with texts; ID stands for the call's id."""

    async def act(ada: Ada) -> None:
        await ada.joins()
        call = await ada.plays_until(method)
        for raw in raws:
            await ada.connection.send_raw(raw.replace("ID", call["id"]))
        await ada.hears_out()

    return act


def silent(method: str) -> Act:
    """Don't answer a call."""

    async def act(ada: Ada) -> None:
        await ada.joins()
        await ada.plays_until(method)
        await ada.hears_out()

    return act


async def hang_up(ada: Ada) -> None:
    """Close the connection instead of moving."""
    await ada.joins()
    await ada.plays_until("move")
    await ada.connection.close(1000)
    await ada.is_away_until_ejected()


async def send_too_much(ada: Ada) -> None:
    """Answer with more than a message may have."""
    await ada.joins()
    call = await ada.plays_until("move")
    head = f'{{"jsonrpc":"2.0","id":"{call["id"]}","result":'
    await ada.connection.send_raw(head + " " * (1_025 - len(head) - 5) + "true}")
    await ada.hears_out()
    await ada.is_away_until_ejected()


NOTHING_OPEN: Final = '{"jsonrpc":"2.0","id":"9.9:9","result":true}'
LEGAL: Final = {"legal_actions": True}

SCENES: Final[Mapping[str, Scene]] = {
    "whole": Scene(
        "A whole tournament of two players: join, tournament start, game start, placement, "
        "movement with a skip, game end, tournament end.",
        play_all,
        honest=True,
        join=LEGAL,
    ),
    "events": Scene(
        "A whole tournament by the rules `classic`, of a player that asks for `events` and does "
        "without `legal_actions`.",
        play_all,
        honest=True,
        join={"events": True},
        settings={"game": {"rules": "classic", "board": {"tiles": LONG}}},
    ),
    "others-out": Scene(
        "A whole tournament of three, one of whom is ejected: its `eject` is among the events, "
        "and its penguins leave the board.",
        play_all,
        honest=True,
        join=LEGAL,
        others=(BEN, {"name": "Cid", "joins": "after", "plays": "error"}),
        settings={"game": {"board": {"tiles": LONG}}},
    ),
    "reconnect": Scene(
        "A player that loses its connection while it is asked to move, and comes back to its "
        "session.",
        come_back,
        honest=True,
        join={**LEGAL, "events": True},
    ),
    "refused": Scene(
        "Every refusal of a join, but for one that comes too late.",
        be_refused,
        others=({**BEN, "joins": "before"},),
        settings={"clocks": {"join_ms": SHORT_MS}},
    ),
    "refused-too-late": Scene(
        "A join when the tournament has started.",
        be_too_late,
        others=({**BEN, "joins": "before"}, {"name": "Cid", "joins": "before", "plays": "first"}),
        settings={"lobby": {"min_players": 2, "max_players": 2}},
    ),
    "illegal_action": Scene(
        "A move off the straight line.", replying("move", [[0, 1], [2, 4]]), join=LEGAL
    ),
    "illegal_action-placement": Scene(
        "A penguin placed on a hole.", replying("place", [0, 0]), join=LEGAL
    ),
    "malformed": Scene(
        "A move that is no array of two positions.", replying("move", [0, 1, 2, 1]), join=LEGAL
    ),
    "malformed-not-json": Scene("A text that is not JSON.", sending("place", "0 1"), join=LEGAL),
    "malformed-unknown-field": Scene(
        "A reply with a field that the server does not know.",
        sending("place", '{"jsonrpc":"2.0","id":"ID","result":[0,1],"comment":"corner"}'),
        join=LEGAL,
    ),
    "timeout": Scene(
        "No answer to a move.",
        silent("move"),
        join=LEGAL,
        settings={"clocks": {"move_ms": SHORT_MS}},
    ),
    "timeout-tournament_end": Scene(
        "A winner that does not answer `tournament_end` is no winner any more.",
        silent("tournament_end"),
        join=LEGAL,
        settings={"clocks": {"ack_ms": SHORT_MS}},
    ),
    "disconnected": Scene(
        "A player that closes its connection instead of moving, and comes back too late.",
        hang_up,
        join=LEGAL,
        settings={"clocks": {"move_ms": SHORT_MS}},
    ),
    "oversize": Scene(
        "A message of one byte more than `max_message`. The player comes back to hear why.",
        send_too_much,
        join=LEGAL,
        settings={"limits": {"max_message": 1_024}},
    ),
    "flood": Scene(
        "More replies to nothing that is open than this server allows, three.",
        sending("move", *[NOTHING_OPEN] * 4),
        join=LEGAL,
        settings={"limits": {"max_surplus": 3}},
    ),
    "error_reply": Scene(
        "An error instead of a move.",
        sending(
            "move",
            '{"jsonrpc":"2.0","id":"ID","error":{"code":1,"message":"IndexError in move()"}}',
        ),
        join=LEGAL,
    ),
    "no_start": Scene(
        "No answer to `game_start`.",
        silent("game_start"),
        join=LEGAL,
        settings={"clocks": {"start_ms": SHORT_MS}},
    ),
    "no_start-tournament": Scene(
        "No answer to `tournament_start`.",
        silent("tournament_start"),
        join=LEGAL,
        settings={"clocks": {"ack_ms": SHORT_MS}},
    ),
}
