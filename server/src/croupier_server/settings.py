"""All settings, validated once: the defaults, a TOML file, the environment, the command line.

Each wins over those before it. In the environment a setting is ``CROUPIER_SECTION__NAME``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from croupier_common.board_spec import BoardSpec
from croupier_common.errors import InvalidBoard
from croupier_common.jsontypes import is_object, shown
from croupier_common.messages import MAX_MESSAGE
from croupier_common.rules import MAX_PLAYERS, MIN_PLAYERS, Rules
from croupier_server.cluster.address import DEFAULT_NATS, nats_from_settings
from croupier_server.errors import UserError
from croupier_server.gateway.house_entry import HouseEntry, house_from_settings
from croupier_server.gateway.program import Program, programs_from_settings

__all__ = [
    "Clocks",
    "ClusterSettings",
    "GameSettings",
    "Limits",
    "LobbySettings",
    "OperationsSettings",
    "PracticeSettings",
    "RecordSettings",
    "ServerSettings",
    "Settings",
    "StorageSettings",
    "TournamentSettings",
    "WebSettings",
    "load_settings",
]

Millis = Annotated[int, Field(ge=1, le=86_400_000)]
MAX_ENTRANTS = 1_000

_NUMBERS: frozenset[object] = frozenset({int, float, int | None, float | None})

_SECRET = frozenset({"cluster.nats", "storage.url"})
"""Settings that may hold a password or a token: messages about them do not quote them."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: object, info: ValidationInfo) -> object:
        annotation: object = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and annotation in _NUMBERS:
            raise ValueError("a number is wanted")
        return value


class ServerSettings(_Section):
    """Where the server listens."""

    host: Annotated[
        # An empty one would be every address of the machine.
        str, Field(min_length=1, description="The address to listen on.")
    ] = "127.0.0.1"
    port: Annotated[
        int, Field(ge=0, le=65_535, description="The port to listen on; 0 for any free one.")
    ] = 8000
    course_port: Annotated[
        int | None,
        Field(
            ge=0,
            le=65_535,
            description="A port for clients of the course's TCP protocol (docs/course.md); 0 for "
            "any free one, none if absent.",
        ),
    ] = None
    tls_certificate: Annotated[
        Path | None, Field(description="A file with the certificate chain (PEM), for wss://.")
    ] = None
    tls_key: Annotated[
        Path | None, Field(description="The file with its key, if that is another one.")
    ] = None
    origins: Annotated[
        tuple[str, ...],
        Field(
            description="Web pages, by origin, that may connect from a browser: "
            "['https://example.org']. Programs that are no browsers send no origin, and may."
        ),
    ] = ()
    drain_ms: Annotated[
        int,
        Field(
            ge=0,
            le=86_400_000,
            description="On SIGTERM, how long running games may take to end, while no others are "
            "started; 0 to stop at once, and go on with them after a restart.",
        ),
    ] = 0


class LobbySettings(_Section):
    """Who may sign up, and how long the lobby waits."""

    min_players: Annotated[
        int, Field(ge=MIN_PLAYERS, le=MAX_ENTRANTS, description="Start with no fewer.")
    ] = MIN_PLAYERS
    max_players: Annotated[
        int, Field(ge=MIN_PLAYERS, le=MAX_ENTRANTS, description="Start at once with so many.")
    ] = 64
    wait_ms: Annotated[
        Millis, Field(description="How long to wait for more, from the first sign-up on.")
    ] = 30_000
    periods: Annotated[
        int, Field(ge=1, le=1_000, description="How many such waits before giving up, if short.")
    ] = 2
    roster: Annotated[
        Path | None,
        Field(description="A file with who may play (`croupier token` writes it); anyone if none."),
    ] = None
    programs: Annotated[
        tuple[Program, ...],
        BeforeValidator(programs_from_settings),
        Field(
            description="Players that the server runs itself, which sign up first: "
            "'NAME=COMMAND', or tables with name, command, cwd, env, age, token and log "
            "(docs/stdio.md)."
        ),
    ] = ()
    house: Annotated[
        tuple[HouseEntry, ...],
        BeforeValidator(house_from_settings),
        Field(
            description="Players that the server plays itself, which sign up before all others: "
            "'NAME=STRATEGY', or tables with name, plays and rating."
        ),
    ] = ()
    late: Annotated[
        bool,
        Field(
            description="Whether players can join after the start, where the format lets them: "
            "all but the knock-out do."
        ),
    ] = False
    ages: Annotated[
        Literal["sign_up", "declared"],
        Field(description="Whether the ages that players state decide the turn order."),
    ] = "sign_up"

    @model_validator(mode="after")
    def _in_order(self) -> LobbySettings:
        if self.min_players > self.max_players:
            raise ValueError(
                f"min_players is {self.min_players}, more than max_players, {self.max_players}"
            )
        return self


class Clocks(_Section):
    """How long an answer may take, by what is asked."""

    join_ms: Annotated[Millis, Field(description="From connecting to joining.")] = 10_000
    start_ms: Annotated[Millis, Field(description="Game start, to load a model.")] = 30_000
    place_ms: Annotated[Millis, Field(description="A placement.")] = 10_000
    move_ms: Annotated[Millis, Field(description="A move.")] = 10_000
    ack_ms: Annotated[Millis, Field(description="Start and end of the tournament.")] = 3_000
    latency_allowance_ms: Annotated[
        int, Field(ge=0, le=60_000, description="What every answer gets on top, for the network.")
    ] = 100
    bank_ms: Annotated[
        int,
        Field(ge=0, le=86_400_000, description="Spare time for a whole game, beyond the budgets."),
    ] = 0
    increment_ms: Annotated[
        int, Field(ge=0, le=3_600_000, description="What each turn adds to the spare time.")
    ] = 0
    grace_ms: Annotated[
        int,
        Field(
            ge=0,
            le=3_600_000,
            description="In a game, how long requests wait in all for a player that is away.",
        ),
    ] = 10_000
    pace_ms: Annotated[
        int,
        Field(
            ge=0,
            le=60_000,
            description="The least time from one turn of a game to the next, for an audience; it "
            "is charged to nobody.",
        ),
    ] = 0
    no_clock: Annotated[
        tuple[str, ...],
        Field(description="Names of players without a clock: people, or a player in a debugger."),
    ] = ()

    def budgets_ms(self) -> dict[str, int]:
        """The budget of each method."""
        return {
            "tournament_start": self.ack_ms,
            "game_start": self.start_ms,
            "place": self.place_ms,
            "move": self.move_ms,
            "tournament_end": self.ack_ms,
        }


class Limits(_Section):
    """What a connection may cost."""

    max_message: Annotated[
        int, Field(ge=1_024, le=16_777_216, description="A player's message, in bytes.")
    ] = MAX_MESSAGE
    compression: Annotated[
        bool,
        Field(
            description="Whether messages may be compressed (permessage-deflate); it takes more "
            "time and memory than it saves."
        ),
    ] = False
    max_unread: Annotated[
        int, Field(ge=65_536, description="What a player may leave unread, in bytes.")
    ] = 1_048_576
    max_surplus: Annotated[
        int,
        Field(ge=0, le=1_000_000, description="Replies to nothing that is open, from a player."),
    ] = 256
    max_pings: Annotated[
        int, Field(ge=0, le=1_000_000, description="Pings in a second; 0 for any number.")
    ] = 32
    max_unjoined: Annotated[
        int,
        Field(
            ge=0,
            le=100_000,
            description="Connections of one address that have not joined, more get HTTP 429; it "
            "may have 8 times as many that say nothing at all. 0 for any number, as behind a "
            "proxy.",
        ),
    ] = 32
    max_connections: Annotated[
        int, Field(ge=2, le=100_000, description="Connections at a time; more get HTTP 503.")
    ] = 10_000


def _rules(value: object) -> Rules:
    return value if isinstance(value, Rules) else Rules.from_json(value)


def _board(value: object) -> BoardSpec:
    if isinstance(value, BoardSpec):
        return value
    return BoardSpec.from_text(value) if isinstance(value, str) else BoardSpec.from_json(value)


class GameSettings(_Section):
    """Which game is played on which boards."""

    rules: Annotated[
        Rules,
        BeforeValidator(_rules),
        Field(description="'fish', 'classic', or a table of options.", examples=["fish"]),
    ] = Rules()
    board: Annotated[
        BoardSpec,
        BeforeValidator(_board),
        Field(
            description="'classic', text like '5x5,holes=3,fish=1-5', or a table.",
            examples=["5x5,fish=2"],
        ),
    ] = BoardSpec()


def _ejection(value: object) -> object:
    if value in {"tournament", "game"} or (type(value) is int and 1 <= value <= 1_000_000):
        return value
    if isinstance(value, str) and value.isdecimal():  # from the environment
        return _ejection(int(value))
    raise ValueError("'tournament', 'game', or a number of ejections from 1")


class TournamentSettings(_Section):
    """How the tournament is run."""

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=64,
            pattern=r"^[\w.-]+$",
            description="Its name, of letters, digits, '_', '.' and '-'.",
        ),
    ] = "tournament"
    format: Annotated[
        Literal["knockout", "round-robin", "swiss", "ladder"],
        Field(description="How it is played (docs/tournaments.md)."),
    ] = "knockout"
    table: Annotated[
        int,
        Field(
            ge=MIN_PLAYERS,
            le=MAX_PLAYERS,
            description="How many play a game; a knock-out has tables of 4 in any case.",
        ),
    ] = 2
    rounds: Annotated[
        int | None,
        Field(ge=1, le=1_000, description="Rounds of a Swiss tournament; by its size if absent."),
    ] = None
    blocks_per_entrant: Annotated[
        int | None,
        Field(
            ge=1,
            le=100_000,
            description="In a round robin, in how many blocks (games on one board in all "
            "seatings) each entrant plays; against everyone if absent.",
        ),
    ] = None
    max_games: Annotated[
        int, Field(ge=1, le=1_000_000, description="Refuse to begin a round robin of more games.")
    ] = 20_000
    ejection: Annotated[
        Literal["tournament", "game"] | int,
        BeforeValidator(_ejection),
        Field(
            description="What an ejection costs: the 'tournament', the 'game', or, as a number, "
            "the tournament once there were so many."
        ),
    ] = "tournament"
    games_at_once: Annotated[
        int, Field(ge=1, le=1_000, description="How many games are played at a time.")
    ] = 8
    seed: Annotated[
        int | None,
        Field(ge=0, le=2**63 - 1, description="Decides all boards; drawn at the start if absent."),
    ] = None


def _strategies(value: object) -> object:
    return tuple(entry.plays for entry in cast("Sequence[HouseEntry]", house_from_settings(value)))


class RecordSettings(_Section):
    """Where records of the games are put at the end, as files."""

    folder: Annotated[
        Path | None,
        Field(description="A record for each game goes here at the end; none if absent."),
    ] = None


def _place(value: object) -> object:
    return None if value == "" else value


class StorageSettings(_Section):
    """Where tournaments are kept while they are played, so that they survive a crash."""

    data: Annotated[
        Path | None,
        BeforeValidator(_place),
        Field(
            description="The data directory, with an SQLite database; '' to keep everything in "
            "memory, where a crash loses it."
        ),
    ] = Path("croupier-data")
    url: Annotated[
        str | None,
        Field(
            pattern="^postgres(ql)?://",
            description="A PostgreSQL database instead: 'postgresql://user:password@host/name'.",
        ),
    ] = None
    resume_wait_ms: Annotated[
        Millis,
        Field(
            description="After a restart, how long to wait for players to come back, from the "
            "first on; who is not there by then is absent."
        ),
    ] = 60_000
    keep_days: Annotated[
        int | None,
        Field(
            ge=1,
            le=36_500,
            description="For how many days after a tournament's end the records of its games are "
            "kept; results and ratings always are. For ever if absent.",
        ),
    ] = None

    @property
    def where(self) -> Path | str | None:
        """The data directory, or the database's URL; None for memory."""
        return self.url or self.data

    @property
    def place(self) -> str:
        """Where that is, in words that have no password."""
        if self.url is not None:
            return "the database of " + self.url.rpartition("@")[2].partition("?")[0]
        return str(self.data)


class PracticeSettings(_Section):
    """The practice room: games with the house, and with others (docs/tournaments.md)."""

    enabled: Annotated[bool, Field(description="Whether there is one.")] = False
    house: Annotated[
        tuple[str, ...],
        BeforeValidator(_strategies),
        Field(min_length=1, description="The strategies that can be asked for; the first if none."),
    ] = ("greedy", "first", "random", "minimax:1", "minimax:2")
    stays: Annotated[
        bool, Field(description="Whether it stays open after the tournament, until it is stopped.")
    ] = False
    max_visits: Annotated[
        int, Field(ge=1, le=10_000, description="How many can practise at a time.")
    ] = 64
    max_tiles: Annotated[
        int, Field(ge=9, le=1_600, description="The largest board that can be asked for, in tiles.")
    ] = 120
    clockless: Annotated[
        bool, Field(description="Whether a game without a clock can be asked for.")
    ] = True
    away_ms: Annotated[
        Millis,
        Field(description="In a game without a clock, how long who is away can still come back."),
    ] = 300_000
    table_wait_ms: Annotated[
        Millis, Field(description="How long people wait at a table for the others to come.")
    ] = 600_000


class WebSettings(_Section):
    """The pages: standings, boards and records in the browser."""

    port: Annotated[
        int | None,
        Field(
            ge=0,
            le=65_535,
            description="The port to show them on; 0 for any free one, no pages if absent.",
        ),
    ] = None
    host: Annotated[
        str | None,
        Field(description="The address to show them on; that of `server.host` if absent."),
    ] = None
    max_connections: Annotated[
        int, Field(ge=2, le=100_000, description="Connections at a time; more get HTTP 503.")
    ] = 2_000
    max_viewers: Annotated[
        int,
        Field(
            ge=1,
            le=100_000,
            description="Viewers of live games at a time; more get HTTP 503. Each takes one of "
            "the connections, so that with fewer of these than of those there is room for pages.",
        ),
    ] = 1_500
    max_viewers_per_address: Annotated[
        int,
        Field(
            ge=0,
            le=100_000,
            description="Viewers of live games from one address, more get HTTP 429; 0 for any "
            "number, as behind a proxy.",
        ),
    ] = 250
    stays: Annotated[
        bool,
        Field(description="Whether the pages stay after the tournament, until they are stopped."),
    ] = False
    operator_token_hash: Annotated[
        str | None,
        Field(
            pattern=r"^sha256:[0-9a-f]{64}$",
            description="The hash of the operator's token, where there is no data directory to "
            "keep it in: `croupier operator-token` prints both (docs/operator.md).",
        ),
    ] = None


class OperationsSettings(_Section):
    """What the operator of a server sees of it (docs/operations.md)."""

    port: Annotated[
        int | None,
        Field(
            ge=0,
            le=65_535,
            description="A port for /metrics, /healthz and /readyz; 0 for any free one, none if "
            "absent.",
        ),
    ] = None
    host: Annotated[
        str, Field(description="The address of that port; anybody who reaches it can read it.")
    ] = "127.0.0.1"
    log_format: Annotated[
        Literal["text", "json"],
        Field(description="Whether logs are lines for people, or a JSON object each."),
    ] = "text"
    traces: Annotated[
        Annotated[str, Field(pattern="^https?://.")] | None,
        BeforeValidator(_place),
        Field(
            description="A collector that takes traces of games by OTLP over HTTP, as "
            "'http://HOST:4318'; it needs the extra [traces].",
        ),
    ] = None
    traces_share: Annotated[
        float,
        Field(
            ge=0, le=1, description="Of how many games; each is traced as a whole or not at all."
        ),
    ] = 1.0


class ClusterSettings(_Section):
    """Several processes or machines that play together (docs/cluster.md)."""

    nats: Annotated[
        tuple[str, ...],
        NoDecode,  # in the environment it is text with commas, and no JSON
        BeforeValidator(nats_from_settings),
        Field(
            repr=False,
            examples=[DEFAULT_NATS],
            description="Where NATS is: 'nats://HOST:PORT', or 'nats://TOKEN@HOST:PORT'; of a NATS "
            "cluster several, in an array or with commas between them.",
        ),
    ] = (DEFAULT_NATS,)
    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=32,
            pattern=r"^[A-Za-z0-9_-]+$",
            description="The cluster's name, of letters, digits, '_' and '-'; clusters of other "
            "names may use the same NATS.",
        ),
    ] = "croupier"
    games_per_worker: Annotated[
        int, Field(ge=1, le=10_000, description="How many games a worker plays at a time.")
    ] = 64
    lost_ms: Annotated[
        int,
        Field(
            ge=100,
            le=3_600_000,
            description="After so long without a sign of life from a worker, its games are given "
            "to others; and a gateway that has lost NATS for so long sends its players to others.",
        ),
    ] = 10_000

    @property
    def is_named(self) -> bool:
        """Whether the settings say where NATS is, so that there is a cluster to be followed."""
        return "nats" in self.model_fields_set


class Settings(BaseSettings):
    """All settings of a server, by section."""

    model_config = SettingsConfigDict(
        env_prefix="CROUPIER_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
    )

    server: ServerSettings = ServerSettings()
    lobby: LobbySettings = LobbySettings()
    clocks: Clocks = Clocks()
    limits: Limits = Limits()
    game: GameSettings = GameSettings()
    tournament: TournamentSettings = TournamentSettings()
    storage: StorageSettings = StorageSettings()
    records: RecordSettings = RecordSettings()
    practice: PracticeSettings = PracticeSettings()
    web: WebSettings = WebSettings()
    operations: OperationsSettings = OperationsSettings()
    cluster: ClusterSettings = ClusterSettings()

    @model_validator(mode="after")
    def _board_has_room(self) -> Settings:
        tournament = self.tournament
        table = MAX_PLAYERS if tournament.format == "knockout" else tournament.table
        players = min(self.lobby.max_players, table)
        try:
            self.game.board.check_room(self.game.rules, players)
        except InvalidBoard as problem:
            raise ValueError(f"game.board: {problem}") from None
        return self


def load_settings(
    path: Path | None = None,
    overrides: Mapping[str, Mapping[str, object]] | None = None,
    *,
    reads_environment: bool = True,
) -> Settings:
    """The settings from a TOML file, the environment and the command line's overrides.

    Args:
        overrides: by section and name; a value of None overrides nothing.
        reads_environment: whether the environment has a say.

    Raises:
        UserError: the file can't be read, or a setting is unknown or can't be; names where.
    """
    file = {} if path is None else _read_toml(path)
    given: dict[str, Any] = {
        section: {name: value for name, value in values.items() if value is not None}
        for section, values in (overrides or {}).items()
    }

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the base's signature
            env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
            dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
            file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (
                InitSettingsSource(settings_cls, given),
                *((_Environment(settings_cls),) if reads_environment else ()),
                InitSettingsSource(settings_cls, file),
            )

    try:
        return Loaded()
    except ValidationError as problem:
        raise UserError(_told(problem, path, file, given)) from None


class _Environment(EnvSettingsSource):
    """The environment; what is no JSON there is text, as in ``CROUPIER_GAME__BOARD=5x5``."""

    def __call__(self) -> dict[str, Any]:
        prefix = self.env_prefix.lower()
        for name in self.env_vars:
            at = name.lower().removeprefix(prefix).split("__")
            if name.lower().startswith(prefix) and len(at) > 1 and at[0] not in _names(()):
                raise UserError(
                    f"environment: no setting {'.'.join(at)}; there are {', '.join(_names(()))}"
                )
        return _sections(super().__call__(), "environment")

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return super().decode_complex_value(field_name, field, value)
        except (ValueError, RecursionError):
            return value


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return _sections(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}") from None
    # A number of thousands of digits is a plain ValueError.
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{path}: not TOML: {problem}") from None


def _sections(values: dict[str, Any], source: str) -> dict[str, Any]:
    """The values of a source, each section of which is one; another source would hide it."""
    for name, value in values.items():
        if name in _names(()) and not isinstance(value, dict):
            raise UserError(f"{source}: {name} is a section, and not {shown(value, 60)}")
    return values


def _told(
    problem: ValidationError,
    path: Path | None,
    file: Mapping[str, Any],
    given: Mapping[str, Mapping[str, object]],
) -> str:
    """The first thing that is wrong: from which source, which setting, and what is allowed."""
    first = problem.errors(include_url=False)[0]
    at = [str(part) for part in first["loc"]]
    reason = str(first["msg"]).removeprefix("Value error, ")
    if not at:  # about several settings together
        return f"{path or 'settings'}: {reason}"
    source = "environment"
    if _has(given, at):
        source = "command line"
    elif path is not None and _has(file, at):
        source = str(path)
    what = ".".join(at)
    if first["type"] == "extra_forbidden":
        return f"{source}: no setting {what}; there are {', '.join(_names(at[:-1]))}"
    if reason.startswith(("board.", "rules.", "board ", "no ")) or "input" not in first:
        return f"{source}: {reason}" if what in reason else f"{source}: {what}: {reason}"
    value = first["input"]
    if what in _SECRET:
        return f"{source}: {what}: {reason}"
    if isinstance(value, dict | list | tuple | BaseModel):  # long, and there may be a token in it
        return f"{source}: {what}: {reason}"
    return f"{source}: {what}: {reason}, not {shown(value, 60)}"


def _has(source: Mapping[str, Any], at: Sequence[str]) -> bool:
    value: object = source
    for name in at:
        if not is_object(value):
            return True  # a part of a value that this source gave
        if name not in value:
            return False
        value = value[name]
    return bool(at)


def _names(section: Sequence[str]) -> Sequence[str]:
    fields = Settings.model_fields
    if section and section[0] in fields:
        annotation = fields[section[0]].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return list(annotation.model_fields)
    return list(fields)
