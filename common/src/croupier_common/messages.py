"""Protocol v1: one frozen pydantic model per message, JSON-RPC 2.0 objects in both directions.

The server calls the player. What the server receives forbids unknown fields; what a player
receives passes over them, so that a field can be added. Nested game values (states, events) are
plain JSON objects on the wire, typed here and read by :mod:`croupier_common.notation` and
:mod:`croupier_common.events`. Durations are whole milliseconds in fields named ``*_ms``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Final, Literal, NotRequired

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import from_json
from typing_extensions import TypedDict

from croupier_common.errors import NotAMessage
from croupier_common.jsontypes import as_json, is_object, shown

__all__ = [
    "MAX_MESSAGE",
    "NO_CLOCK_MS",
    "PROTOCOL",
    "Ejection",
    "ErrorBody",
    "ErrorCode",
    "Events",
    "GameEnd",
    "GameStart",
    "Join",
    "JoinParams",
    "JoinResult",
    "Joined",
    "MoveRequest",
    "PlaceRequest",
    "Refusal",
    "RefusalBody",
    "Rejected",
    "Reply",
    "ServerCall",
    "ServerNotification",
    "TournamentEnd",
    "TournamentStart",
    "load_json",
    "parse_from_player",
    "parse_from_server",
]

PROTOCOL: Final = 1
"""The version that this code speaks."""

MAX_MESSAGE: Final = 65_536
"""The largest message from a player, in bytes."""

Colour = Annotated[Literal["red", "white", "brown", "black"], Field(title="colour")]
Count = Annotated[int, Field(ge=0)]
Spot = Annotated[list[int], Field(min_length=2, max_length=2, title="position")]
Rows = Annotated[list[list[Count]], Field(title="board")]
NO_CLOCK_MS: Final = 86_400_000
"""The budget that a player without a clock is told: a day."""

Budget = Annotated[
    Count,
    Field(
        description="How long the answer may take, without the latency allowance; a day for a "
        "player without a clock."
    ),
]
GameId = Annotated[str, Field(description="The game's id: round.table in a knock-out.")]
You = Annotated[Colour, Field(description="The player's own colour in this game.")]


class _FromPlayer(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class _FromServer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


# -- what a player sends


class JoinParams(_FromPlayer):
    """What a player says of itself."""

    protocol: Annotated[int, Field(description="The version that the player speaks: 1.")]
    name: Annotated[
        str,
        StringConstraints(min_length=1, max_length=32),
        Field(description="Its name: printable characters, no space at either end."),
    ]
    age: Annotated[
        int | None,
        Field(
            ge=0,
            le=1_000_000,
            description="Its age. It decides the order of turns where the operator lets it.",
        ),
    ] = None
    room: Annotated[
        str | None,
        Field(max_length=256, description="Where to play; leave it out to join the tournament."),
    ] = None
    token: Annotated[
        str | None,
        Field(max_length=256, description="The entrant's token, where the operator gave one."),
    ] = None
    session: Annotated[
        str | None, Field(max_length=256, description="The session to take up again.")
    ] = None
    last_event: Annotated[
        dict[str, Count] | None,
        Field(
            max_length=64,
            description="With `session`: by game, the number of the last event seen.",
        ),
    ] = None
    max_games: Annotated[
        int, Field(ge=1, le=64, description="How many games the player can play at once.")
    ] = 1
    legal_actions: Annotated[
        bool, Field(description="Whether requests list all legal actions.")
    ] = False
    events: Annotated[
        bool,
        Field(description="Whether every event is told at once too, in `events` notifications."),
    ] = False


class Join(_FromPlayer):
    """The request that opens a connection."""

    jsonrpc: Literal["2.0"]
    id: str | int
    method: Literal["join"] = "join"
    params: JoinParams


class ErrorBody(_FromPlayer):
    """The JSON-RPC error with which a player answers a request."""

    code: Annotated[int, Field(description="Any whole number.")]
    message: Annotated[
        str,
        StringConstraints(max_length=10_000),
        Field(description="What went wrong; it is shown to the player's author."),
    ]
    data: Annotated[Any, Field(description="Anything more; it is not used.")] = None


class Reply(_FromPlayer):
    """A player's answer to a request: a result or an error, never both."""

    jsonrpc: Literal["2.0"]
    id: str
    result: Any = None
    error: ErrorBody | None = None

    @property
    def has_result(self) -> bool:
        """Whether there is a result, be it null."""
        return "result" in self.model_fields_set


# -- what the server answers to a join


class JoinResult(_FromServer):
    """What the server tells a player that has joined."""

    protocol: Annotated[int, Field(description="The version that is spoken: the one asked for.")]
    server: Annotated[str, Field(description="The server's name and version.")]
    session: Annotated[str, Field(description="The token to take up this session again with.")]
    name: Annotated[str, Field(description="The player's name as others see it.")]
    max_message: Annotated[
        Count, Field(description="The largest message that a player may send, in bytes.")
    ]
    budgets_ms: Annotated[
        dict[str, Count], Field(description="By the method of a request, the time to answer it.")
    ]


class Joined(_FromServer):
    """The server's answer to a join that it accepts."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int
    result: JoinResult


class RefusalBody(_FromServer):
    """A JSON-RPC error of the server's."""

    code: Annotated[int, Field(description="What kind of refusal it is, for programs.")]
    message: Annotated[str, Field(description="Why, for people: one line.")]
    data: Annotated[
        Any,
        Field(description="For a version refusal: `requested` and `supported`; else null."),
    ] = None


class Refusal(_FromServer):
    """An error of the server's; the connection is closed after it."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int | None
    error: RefusalBody


class ErrorCode(IntEnum):
    """The codes of the errors that the server sends."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    VERSION = -32001
    NAME = -32002
    CLOSED = -32003
    SESSION = -32004
    TOKEN = -32005

    @property
    def meaning(self) -> str:
        """When it is sent, in words for a player's author."""
        return _ERROR_MEANINGS[self]


_ERROR_MEANINGS: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.PARSE: "The first message is not JSON.",
    ErrorCode.INVALID_REQUEST: (
        "The first message is no whole request to join: a reply, a batch, a binary frame, no "
        "`id`. Or no message came in time."
    ),
    ErrorCode.METHOD_NOT_FOUND: "The first message calls another method than `join`.",
    ErrorCode.INVALID_PARAMS: (
        "A field of `params` is missing, unknown or wrong, or there is no such room."
    ),
    ErrorCode.INTERNAL: "Something is wrong with the server, not with the player.",
    ErrorCode.VERSION: "The server does not speak the version that `protocol` asks for.",
    ErrorCode.NAME: "The name is taken, or has characters that can't be printed.",
    ErrorCode.CLOSED: "The tournament has started, or the lobby is full.",
    ErrorCode.SESSION: "There is no such session.",
    ErrorCode.TOKEN: "The tournament has a roster, and name and token are not in it together.",
}


# -- what the server sends by itself


class PlayerEntry(TypedDict):
    """A player in a state."""

    color: Annotated[Colour, Field(description="Its colour.")]
    fish: Annotated[Count, Field(description="The fish that it holds.")]
    tiles: Annotated[Count, Field(description="The tiles that it holds.")]
    penguins: Annotated[
        list[Spot],
        Field(description="Where its penguins stand; one that moves keeps its place in the list."),
    ]
    ejected: NotRequired[
        Annotated[bool, Field(description="True for a player that is out; else left out.")]
    ]


class StateEntry(TypedDict):
    """A state of a game; the rules came with `game_start`."""

    board: Annotated[
        Rows, Field(description="Fish by row and column, under penguins too; 0 is a hole.")
    ]
    players: Annotated[
        list[PlayerEntry],
        Field(description="All who were dealt a colour, in turn order; the ejected stay listed."),
    ]
    turn: Annotated[Colour | None, Field(description="Who is to act; null when it is over.")]
    stage: Annotated[
        Literal["placement", "movement", "over"], Field(description="How far the game is.")
    ]
    penguins_each: Annotated[Count, Field(description="How many penguins each player places.")]


class EventEntry(TypedDict):
    """An event and its number in the game."""

    seq: Annotated[Count, Field(description="Its number in the game, from 1, without gaps.")]
    event: Annotated[dict[str, Any], Field(description="What happened.", title="event")]


class SeatEntry(TypedDict):
    """Who plays which colour."""

    color: Annotated[Colour, Field(description="Its colour in this game.")]
    name: Annotated[str, Field(description="Its name.")]


class LastAnswer(TypedDict):
    """How the player's last answer in this game was taken."""

    think_ms: Annotated[Count, Field(description="How long it took, by the server's clock.")]
    stall_ms: NotRequired[
        Annotated[
            Count,
            Field(description="How long of that the server could not run; it is not charged."),
        ]
    ]
    rtt_ms: NotRequired[
        Annotated[Count, Field(description="The round trip to the player, where it was measured.")]
    ]
    verdict: Annotated[Literal["ok"], Field(description="It was in time and legal.")]


class TournamentStartParams(_FromServer):
    """The tournament begins."""

    tournament: Annotated[str, Field(description="The tournament's name.")]
    players: Annotated[list[str], Field(description="All players' names, in turn order.")]
    budget_ms: Budget


class GameStartParams(_FromServer):
    """A game begins."""

    game: GameId
    you: You
    players: Annotated[list[SeatEntry], Field(description="All players of it, in turn order.")]
    rules: Annotated[
        str | dict[str, str],
        Field(description="The name of a preset, or the value of every option by its name."),
    ]
    board: Annotated[Rows, Field(description="The board at the start.")]
    budget_ms: Budget
    budgets_ms: Annotated[
        dict[str, Count], Field(description="The time for each `place` and each `move`.")
    ]


class TurnParams(_FromServer):
    """It is the player's turn."""

    game: GameId
    you: You
    state: Annotated[StateEntry, Field(description="The whole state; `turn` is the player.")]
    events: Annotated[
        list[EventEntry],
        Field(description="All that happened since the player's last turn, its own act left out."),
    ]
    budget_ms: Budget
    bank_ms: Annotated[
        Count | None,
        Field(
            description="The spare time left in this game: what a turn takes beyond its budget "
            "comes out of it. Left out where the clocks have none."
        ),
    ] = None
    last: Annotated[
        LastAnswer | None,
        Field(description="How the last answer in this game was taken; not in the first request."),
    ] = None
    legal_actions: Annotated[
        list[Any] | None,
        Field(description="All answers that are legal, where `join` asked for them."),
    ] = None


class TournamentEndParams(_FromServer):
    """The tournament is over."""

    tournament: Annotated[str, Field(description="The tournament's name.")]
    won: Annotated[bool, Field(description="Whether the player is a winner.")]
    winners: Annotated[list[str], Field(description="The winners' names; there may be none.")]
    budget_ms: Budget


class EventsParams(_FromServer):
    """Events of a running game, for those who asked."""

    game: GameId
    events: Annotated[list[EventEntry], Field(description="What has just happened, in order.")]


class EjectionParams(_FromServer):
    """The player is out, with the reason and how to mend it."""

    game: Annotated[
        str | None, Field(description="The game's id; left out where it was in none.")
    ] = None
    verdict: Annotated[str, Field(description="Why, as one word: see [verdicts](#verdicts).")]
    phase: Annotated[str, Field(description="When, as one word: the phases of a verdict.")]
    detail: Annotated[str, Field(description="What was wrong, and what was expected.")]
    fix: Annotated[str, Field(description="What to do about it, in one sentence.")]
    link: Annotated[str, Field(description="Where these pages say more.")]
    sent: Annotated[
        str | None,
        Field(description="What the player sent, cut to 400 characters; left out if nothing."),
    ] = None
    plays_on: Annotated[
        bool | None,
        Field(
            description="True where it costs the player this game only, so that it is asked in "
            "its next one; left out where it is out of the tournament."
        ),
    ] = None


class GameEndParams(_FromServer):
    """A game is over."""

    game: GameId
    outcome: Annotated[
        dict[str, Any] | None,
        Field(
            description="How it ended; left out when a fault of the server's interrupted it. "
            "Such a game does not count, and is played again under another id.",
            title="outcome",
        ),
    ] = None
    events: Annotated[
        list[EventEntry],
        Field(description="All that happened since the player's last turn, without the end."),
    ]


class _Message(_FromServer):
    jsonrpc: Literal["2.0"] = "2.0"

    def text(self) -> str:
        """The message as it is sent: without what is absent."""
        return self.model_dump_json(exclude_none=True)


class _Call(_Message):
    id: str


class _Notification(_Message):
    pass


class TournamentStart(_Call):
    """Answer with true."""

    METHOD: ClassVar[str] = "tournament_start"
    method: Literal["tournament_start"] = "tournament_start"
    params: TournamentStartParams


class GameStart(_Call):
    """Answer with true when ready to play."""

    METHOD: ClassVar[str] = "game_start"
    method: Literal["game_start"] = "game_start"
    params: GameStartParams


class PlaceRequest(_Call):
    """Answer with a position."""

    METHOD: ClassVar[str] = "place"
    method: Literal["place"] = "place"
    params: TurnParams


class MoveRequest(_Call):
    """Answer with a move: two positions."""

    METHOD: ClassVar[str] = "move"
    method: Literal["move"] = "move"
    params: TurnParams


class TournamentEnd(_Call):
    """Answer with true; a winner that doesn't loses the title."""

    METHOD: ClassVar[str] = "tournament_end"
    method: Literal["tournament_end"] = "tournament_end"
    params: TournamentEndParams


class Events(_Notification):
    """No answer."""

    METHOD: ClassVar[str] = "events"
    method: Literal["events"] = "events"
    params: EventsParams


class Ejection(_Notification):
    """No answer."""

    METHOD: ClassVar[str] = "ejected"
    method: Literal["ejected"] = "ejected"
    params: EjectionParams


class GameEnd(_Notification):
    """No answer."""

    METHOD: ClassVar[str] = "game_end"
    method: Literal["game_end"] = "game_end"
    params: GameEndParams


ServerCall = TournamentStart | GameStart | PlaceRequest | MoveRequest | TournamentEnd
ServerNotification = Events | Ejection | GameEnd
FromServer = Joined | Refusal | ServerCall | ServerNotification

_REPLY: Final[TypeAdapter[Reply]] = TypeAdapter(Reply)
_JOIN: Final[TypeAdapter[Join]] = TypeAdapter(Join)
_CALLED: Final[TypeAdapter[ServerCall | ServerNotification]] = TypeAdapter(
    Annotated[ServerCall | ServerNotification, Field(discriminator="method")]
)
_ANSWERED: Final[TypeAdapter[Joined | Refusal]] = TypeAdapter(Joined | Refusal)


class Rejected(NotAMessage):
    """What came is no message; ``code`` is the JSON-RPC error, ``id`` its id if it had one.

    ``data`` is for the error's data, for programs.
    """

    def __init__(
        self,
        reason: str,
        code: int,
        id: str | int | None = None,  # noqa: A002 - the protocol's word
        data: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(reason)
        self.code = int(code)
        self.id = id
        self.data = data


def parse_from_player(raw: str | bytes) -> Join | Reply:
    """The message that a player sent.

    Raises:
        Rejected: it is none, or a join of another protocol version.
    """
    try:
        reply: Reply = _REPLY.validator.validate_json(raw)  # the adapter's own takes twice as long
    except ValidationError as problem:
        return _parse_slowly(raw, problem)
    if reply.has_result == (reply.error is not None):
        which = "both" if reply.has_result else "neither"
        raise Rejected(
            f"a reply has a result or an error, and this one has {which}",
            ErrorCode.INVALID_REQUEST,
            reply.id,
        )
    if _has_name_of_a_number(raw):
        load_json(raw)  # pydantic lets NaN and Infinity pass, which JSON does not have
    return reply


def _has_name_of_a_number(raw: str | bytes) -> bool:
    if isinstance(raw, str):
        return "NaN" in raw or "Infinity" in raw
    return b"NaN" in raw or b"Infinity" in raw


def _parse_slowly(raw: str | bytes, problem: ValidationError) -> Join:
    value = load_json(raw)
    if not is_object(value):
        raise Rejected("a message is a JSON object; no batches", ErrorCode.INVALID_REQUEST)
    ident = value.get("id")
    known = ident if isinstance(ident, str) or type(ident) is int else None
    method = value.get("method")
    if method is None:
        raise Rejected(f"not a reply: {_told(problem)}", ErrorCode.INVALID_REQUEST, known)
    if method != "join":
        raise Rejected(
            f"no method {shown(method, 40)}; a player calls join only",
            ErrorCode.METHOD_NOT_FOUND,
            known,
        )
    params = value.get("params")
    version = params.get("protocol") if is_object(params) else None
    if type(version) is int and version != PROTOCOL:
        raise Rejected(
            f"protocol {shown(version, 20)} is not spoken here; this server speaks "
            f"protocol {PROTOCOL}",
            ErrorCode.VERSION,
            known,
            {"requested": version, "supported": [PROTOCOL]},
        )
    if known is None and "id" in value:  # pydantic would speak of a string only
        raise Rejected(
            f"not a join: id is a string or a whole number, not {as_json(ident, 60)}",
            ErrorCode.INVALID_REQUEST,
        )
    try:
        return _JOIN.validate_json(raw)
    except ValidationError as wrong:
        about_params = wrong.errors(include_url=False)[0]["loc"][:1] == ("params",)
        code = ErrorCode.INVALID_PARAMS if about_params else ErrorCode.INVALID_REQUEST
        raise Rejected(f"not a join: {_told(wrong)}", code, known) from None


def parse_from_server(raw: str | bytes) -> FromServer:
    """The message that a server sent.

    Raises:
        NotAMessage: it is none that this version knows.
    """
    try:
        return _CALLED.validate_json(raw)
    except ValidationError as problem:
        try:
            return _ANSWERED.validate_json(raw)
        except ValidationError:
            raise NotAMessage(_told(problem)) from None


def load_json(raw: str | bytes) -> object:
    """The JSON value in a text.

    Raises:
        Rejected: it is not JSON, or nests or counts beyond all reason.
    """
    try:
        # A str with half a surrogate pair is a TypeError to from_json, so it gets bytes.
        return from_json(raw.encode() if isinstance(raw, str) else raw, allow_inf_nan=False)
    except (ValueError, RecursionError) as problem:
        reason = str(problem).splitlines()[0][:200]
        raise Rejected(f"not JSON: {reason}", ErrorCode.PARSE) from None


def _told(problem: ValidationError) -> str:
    first = problem.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(_printable, first["loc"]))
    told = f"{where}: {first['msg']}" if where else first["msg"]
    if first["type"] not in {"missing", "json_invalid"}:
        told += f", not {as_json(first['input'], 60)}"
    return told[:300]


def _printable(part: str | int) -> str:
    """A part of a place in a message, which may be a name that the sender made up."""
    text = str(part)
    return text if text.isprintable() else repr(text)[1:-1]
