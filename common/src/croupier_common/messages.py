"""Protocol v1: one frozen pydantic model per message, JSON-RPC 2.0 objects in both directions.

The server calls the player. What the server receives forbids unknown fields; what a player
receives passes over them, so that a field can be added. Nested game values (states, events) are
plain JSON objects on the wire, typed here and read by :mod:`croupier_common.notation` and
:mod:`croupier_common.events`. Durations are whole milliseconds in fields named ``*_ms``.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from croupier_common.jsontypes import is_object, shown

__all__ = [
    "MAX_MESSAGE",
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

Colour = Literal["red", "white", "brown", "black"]
Spot = Annotated[list[int], Field(min_length=2, max_length=2)]
Count = Annotated[int, Field(ge=0)]


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
        Field(description="Its name, 1 to 32 printable characters."),
    ]
    age: Annotated[
        int | None,
        Field(ge=0, le=1_000_000, description="Its age, which decides turns where the lobby asks."),
    ] = None
    room: Annotated[
        str | None, Field(max_length=64, description="Where to play; the tournament if absent.")
    ] = None
    token: Annotated[
        str | None, Field(max_length=256, description="Its entrant's token, where a roster asks.")
    ] = None
    session: Annotated[
        str | None, Field(max_length=256, description="The session to take up again.")
    ] = None
    last_event: Annotated[
        dict[str, int] | None,
        Field(max_length=64, description="By game, the last event seen, with `session`."),
    ] = None
    max_games: Annotated[
        int, Field(ge=1, le=64, description="How many games it can play at once.")
    ] = 1
    legal_actions: Annotated[
        bool, Field(description="Whether requests are to list the legal actions.")
    ] = False
    events: Annotated[
        bool, Field(description="Whether to be told every event at once, beside the requests.")
    ] = False


class Join(_FromPlayer):
    """The request that opens a connection."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int
    method: Literal["join"] = "join"
    params: JoinParams


class ErrorBody(_FromPlayer):
    """A JSON-RPC error."""

    code: int
    message: Annotated[str, StringConstraints(max_length=10_000)]
    data: Any = None


class Reply(_FromPlayer):
    """A player's answer to a request: a result or an error, never both."""

    jsonrpc: Literal["2.0"] = "2.0"
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

    protocol: int
    server: Annotated[str, Field(description="The server's name and version.")]
    session: Annotated[str, Field(description="The token to take up this session again with.")]
    name: Annotated[str, Field(description="The player's name as others see it.")]
    max_message: Annotated[int, Field(description="The largest message from a player, in bytes.")]
    budgets_ms: Annotated[
        dict[str, int], Field(description="The time for an answer, by method of the request.")
    ]


class Joined(_FromServer):
    """The server's answer to a join that it accepts."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int
    result: JoinResult


class Refusal(_FromServer):
    """An error of the server's; the connection is closed after it."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int | None
    error: ErrorBody


class ErrorCode:
    """The codes of the errors that the server sends."""

    PARSE: Final = -32700
    INVALID_REQUEST: Final = -32600
    METHOD_NOT_FOUND: Final = -32601
    INVALID_PARAMS: Final = -32602
    INTERNAL: Final = -32603
    VERSION: Final = -32001
    NAME: Final = -32002
    CLOSED: Final = -32003
    SESSION: Final = -32004


# -- what the server sends by itself


class PlayerEntry(TypedDict):
    """A player of a state on the wire."""

    color: Colour
    fish: Count
    tiles: Count
    penguins: list[Spot]
    ejected: NotRequired[bool]


class StateEntry(TypedDict):
    """A state on the wire; the rules came with game_start."""

    board: list[list[Count]]
    players: list[PlayerEntry]
    turn: Colour | None
    stage: Literal["placement", "movement", "over"]
    penguins_each: Count


class EventEntry(TypedDict):
    """An event on the wire: its number in the game, and what happened."""

    seq: Count
    event: dict[str, Any]


class SeatEntry(TypedDict):
    """Who plays which colour."""

    color: Colour
    name: str


class LastAnswer(TypedDict):
    """How the player's last answer in this game was taken."""

    think_ms: Count
    verdict: Literal["ok"]


class TournamentStartParams(_FromServer):
    """The tournament begins."""

    tournament: str
    players: Annotated[list[str], Field(description="All players' names, by turn order.")]
    budget_ms: Count


class GameStartParams(_FromServer):
    """A game begins."""

    game: str
    you: Colour
    players: Annotated[list[SeatEntry], Field(description="All players, in turn order.")]
    rules: Annotated[
        str | dict[str, str], Field(description="A preset's name, or all options by name.")
    ]
    board: list[list[Count]]
    budget_ms: Count
    budgets_ms: Annotated[dict[str, int], Field(description="The budgets of this game's turns.")]


class TurnParams(_FromServer):
    """It is the player's turn."""

    game: str
    you: Colour
    state: StateEntry
    events: Annotated[
        list[EventEntry], Field(description="All that happened since the player's last turn.")
    ]
    budget_ms: Count
    last: LastAnswer | None = None
    legal_actions: Annotated[
        list[Any] | None, Field(description="All that is legal, where join asked for it.")
    ] = None


class TournamentEndParams(_FromServer):
    """The tournament is over."""

    tournament: str
    won: bool
    winners: list[str]
    budget_ms: Count


class EventsParams(_FromServer):
    """Events of a running game, for those who asked."""

    game: str
    events: list[EventEntry]


class EjectionParams(_FromServer):
    """The player is out, with the reason and how to mend it."""

    game: str | None
    verdict: str
    phase: str
    detail: str
    fix: str
    link: str
    sent: str | None = None


class GameEndParams(_FromServer):
    """A game is over."""

    game: str
    outcome: dict[str, Any]
    events: list[EventEntry]


class _Call(_FromServer):
    jsonrpc: Literal["2.0"] = "2.0"
    id: str


class _Notification(_FromServer):
    jsonrpc: Literal["2.0"] = "2.0"


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
        self.code = code
        self.id = id
        self.data = data


def parse_from_player(raw: str | bytes) -> Join | Reply:
    """The message that a player sent.

    Raises:
        Rejected: it is none, or a join of another protocol version.
    """
    try:
        reply = _REPLY.validate_json(raw)
    except ValidationError as problem:
        return _parse_slowly(raw, problem)
    if reply.has_result == (reply.error is not None):
        raise Rejected("a reply has a result or an error, not both", ErrorCode.INVALID_REQUEST)
    return reply


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
    try:
        return _JOIN.validate_json(raw)
    except ValidationError as wrong:
        raise Rejected(f"not a join: {_told(wrong)}", ErrorCode.INVALID_PARAMS, known) from None


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
        return from_json(raw, allow_inf_nan=False)
    except (ValueError, RecursionError) as problem:
        reason = str(problem).splitlines()[0][:200]
        raise Rejected(f"not JSON: {reason}", ErrorCode.PARSE) from None


def _told(problem: ValidationError) -> str:
    first = problem.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    told = f"{where}: {first['msg']}" if where else first["msg"]
    if first["type"] not in {"missing", "json_invalid"}:
        told += f", not {shown(first['input'], 60)}"
    return told[:300]
