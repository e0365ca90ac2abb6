"""Records: a game as JSON lines, each with its place in a chain of hashes.

A line is ``{"seq", "event", "obs", "digest", "chain"}`` in compact JSON, integers only. ``event``
is what rules and seed decide; ``obs`` is what was observed (times, versions, what a player sent).
``digest`` is SHA-256 over the digest before it and the event's bytes, so that two runs of one game
end with one digest; ``chain`` is SHA-256 over the chain before it and the line's bytes without its
own ``chain``, so that damage shows. Line 1 (seq 0) is the header, the last line the footer: the
outcome, or that the game was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from pydantic_core import from_json, to_json

from croupier_common.board import Board
from croupier_common.board_spec import BoardSpec
from croupier_common.errors import FishError, RecordError
from croupier_common.events import Ejected, Ended, Event, event_from_json
from croupier_common.game import Game, NumberedEvent, action_of
from croupier_common.jsontypes import is_array, is_object, is_whole, shown
from croupier_common.outcome import Color
from croupier_common.rules import Rules
from croupier_common.verdict import Fault, Phase, Verdict

__all__ = [
    "FORMAT",
    "Header",
    "Record",
    "RecordLine",
    "RecordWriter",
    "Seat",
    "read_record",
    "replay",
    "walk",
]

FORMAT: Final = 1
"""The version of the format that is written; others are refused by name."""

INTERRUPTED: Final = "interrupted"
_FOOTERS: Final = frozenset({"end", INTERRUPTED})


def _dump(value: object) -> str:
    """Compact JSON."""
    return to_json(value).decode()


@dataclass(frozen=True, slots=True)
class Seat:
    """Who plays which colour in a recorded game."""

    name: str
    color: Color


@dataclass(frozen=True, slots=True)
class Header:
    """What a game is made of.

    Attributes:
        players: in turn order, those too who failed at its start.
        seed: the game's own seed; with `spec` it rebuilds the board.
        spec: how the board was asked for; None where it was given.
    """

    game: str
    board: Board
    rules: Rules
    players: tuple[Seat, ...]
    seed: int
    spec: BoardSpec | None = None

    def to_json(self) -> dict[str, Any]:
        """The header as the event of a record's first line."""
        return {
            "kind": "start",
            "format": FORMAT,
            "game": self.game,
            "seed": self.seed,
            "spec": None if self.spec is None else self.spec.to_json(),
            "board": self.board.to_json(),
            "rules": self.rules.to_json(),
            "players": [{"name": seat.name, "color": seat.color.value} for seat in self.players],
        }


class RecordWriter:
    """Writes a record, line by line, to whatever `write` takes each line to.

    A line is handed over whole, with its newline, in one call.
    """

    __slots__ = ("_chain", "_digest", "_finished", "_seq", "_write")

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._finished = False
        self._seq = 0
        self._digest = ""
        self._chain = ""

    @classmethod
    def resumed(cls, write: Callable[[str], object], record: Record) -> RecordWriter:
        """A writer that goes on after the lines of an unfinished record."""
        writer = cls(write)
        writer._seq = record.lines[-1].seq + 1
        writer._digest = record.digest
        writer._chain = record.chain
        return writer

    @property
    def seq(self) -> int:
        """The number of the next line."""
        return self._seq

    @property
    def digest(self) -> str:
        """The digest of the last line."""
        return self._digest

    @property
    def chain(self) -> str:
        """The chain of the last line."""
        return self._chain

    def header(self, header: Header, obs: Mapping[str, Any]) -> None:
        """Write the first line."""
        self._line(header.to_json(), obs)

    def event(self, event: Event, obs: Mapping[str, Any]) -> None:
        """Write an event; an :class:`Ended` is the footer."""
        self._line(event.to_json(), obs)
        self._finished = isinstance(event, Ended)

    def interrupted(self, reason: str) -> None:
        """Write the footer of a game that was not played to its end.

        After the footer of a game that was, nothing is written: a record has one.
        """
        if not self._finished:
            self._line({"kind": INTERRUPTED}, {"reason": reason})
            self._finished = True

    def _line(self, event: dict[str, Any], obs: Mapping[str, Any]) -> None:
        body = _dump(event)
        self._digest = sha256((self._digest + body).encode()).hexdigest()
        line = f'{{"seq":{self._seq},"event":{body},"obs":{_dump(obs)},"digest":"{self._digest}"'
        self._chain = sha256((self._chain + line).encode()).hexdigest()
        self._write(f'{line},"chain":"{self._chain}"}}\n')
        self._seq += 1


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One line of a record, its hashes checked; ``number`` from 1."""

    number: int
    seq: int
    event: Mapping[str, Any]
    obs: Mapping[str, Any]
    digest: str
    chain: str


@dataclass(frozen=True, slots=True)
class Record:
    """A record whose hashes hold; :func:`replay` checks what it says.

    It is whole, with a footer, unless it was read as an unfinished one.
    """

    header: Header
    lines: tuple[RecordLine, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it has its footer."""
        return self.lines[-1].event["kind"] in _FOOTERS

    @property
    def is_interrupted(self) -> bool:
        """Whether the game was not played to its end."""
        return bool(self.lines[-1].event["kind"] == INTERRUPTED)

    @property
    def digest(self) -> str:
        """The last digest: equal for two runs of the same game."""
        return self.lines[-1].digest

    @property
    def chain(self) -> str:
        """The last chain."""
        return self.lines[-1].chain


def read_record(lines: Iterable[bytes], *, unfinished: bool = False) -> Record:
    """The record in a file's lines, its hashes checked.

    Args:
        unfinished: whether the game may still go on, so that there need be no footer.

    Raises:
        RecordError: a line is damaged, or the record is cut off; the line's number is named.
    """
    found: list[RecordLine] = []
    digest = chain = ""
    for number, raw in enumerate(lines, 1):
        if found and found[-1].event["kind"] in _FOOTERS:
            raise RecordError("something follows after the footer", line=number)
        line = _read_line(raw, number, digest, chain)
        digest, chain = line.digest, line.chain
        found.append(line)
    if not found:
        raise RecordError("the record is empty", line=1)
    header = _read_header(found[0])
    if found[-1].event["kind"] not in _FOOTERS and not unfinished:
        raise RecordError(
            f"the record is cut off after {len(found)} whole lines: it has no footer",
            line=len(found) + 1,
        )
    return Record(header, tuple(found))


def replay(record: Record) -> Game:
    """Play a record again, and check that rules and seed give exactly what it says.

    Returns:
        the game at its end, or where it was interrupted.

    Raises:
        RecordError: it says something else than the rules do; the first such line is named.
    """
    game = None
    for game, _ in walk(record):  # noqa: B007 - the last one is the answer
        pass
    assert game is not None
    return game


def walk(record: Record) -> Iterator[tuple[Game, Sequence[NumberedEvent]]]:
    """Play a record again, step by step, checked as :func:`replay` does.

    Yields:
        the game (always the same object, going on) and what has just happened: first at the
        start, then after every placement, move and ejection.
    """
    told = _Told(record.lines[1:])
    game, events = _begin(record.header, told.faults_at_start())
    is_done = told.is_done(game)
    yield game, events
    while not is_done:
        seen = len(game.events)
        _apply(game, *told.next_given())
        is_done = told.is_done(game)
        yield game, game.events[seen:]


class _Told:
    """The events of a record beside those that a game makes."""

    def __init__(self, lines: Sequence[RecordLine]) -> None:
        self._lines = lines
        self._at = 0  # how many of the lines the game has made too

    @property
    def number(self) -> int:
        """The number of the line that is looked at."""
        at = min(self._at, len(self._lines) - 1)
        return self._lines[at].number if self._lines else 1

    def faults_at_start(self) -> dict[Color, Fault]:
        """The faults before placement, which the lines after the header begin with."""
        faults: dict[Color, Fault] = {}
        for line in self._lines:
            event = _event(line)
            if not isinstance(event, Ejected) or event.phase is not Phase.GAME_START:
                break
            faults[event.color] = Fault(event.verdict, event.phase, "as recorded")
        return faults

    def is_done(self, game: Game) -> bool:
        """Compare what the game has made since the last call; whether the record ends here."""
        for numbered in game.events[self._at :]:
            line = self._line_at(self._at)
            if line is None or line.event["kind"] == INTERRUPTED:
                raise RecordError(
                    f"the record ends, and by the rules {numbered.event} follows",
                    line=self.number,
                )
            said, right = _dump(line.event), _dump(numbered.event.to_json())
            if said != right:  # as text, since 1 == 1.0 == True
                raise RecordError(
                    f"it says {said[:200]}, and by the rules it is {right[:200]}", line=line.number
                )
            self._at += 1
        following = self._line_at(self._at)
        return following is None or following.event["kind"] == INTERRUPTED

    def next_given(self) -> tuple[RecordLine, Event]:
        """The next line, which must be an action or an ejection: what no rule decides."""
        line = self._lines[self._at]
        event = _event(line)
        is_ejection = isinstance(event, Ejected) and event.verdict is not Verdict.NO_ROOM
        if event is None or not (is_ejection or action_of(event)):
            raise RecordError(
                f"it says {_dump(line.event)[:200]}, which does not follow from the rules here",
                line=line.number,
            )
        return line, event

    def _line_at(self, at: int) -> RecordLine | None:
        return self._lines[at] if at < len(self._lines) else None


def _begin(header: Header, faults: Mapping[Color, Fault]) -> tuple[Game, Sequence[NumberedEvent]]:
    """The game of a header, begun; whatever is wrong then is wrong in line 1."""
    colors = [seat.color for seat in header.players]
    try:
        if header.spec is not None:
            built = header.spec.build(header.seed, rules=header.rules, players=len(colors))
            if built != header.board:
                raise RecordError("the board is not the one that spec and seed give", line=1)
        game = Game(header.game, header.board, colors, header.rules)
        return game, game.begin(faults)
    except RecordError:
        raise
    except FishError as problem:
        raise RecordError(str(problem), line=1) from None


def _apply(game: Game, line: RecordLine, event: Event) -> None:
    """Have a recorded action or ejection happen again."""
    if game.request is None:
        raise RecordError("the game was over before this", line=line.number)
    color, action = line.event.get("color"), action_of(event)
    if action is not None and color != game.request.color.value:
        raise RecordError(f"it is {game.request.color}'s turn, not {color}'s", line=line.number)
    try:
        if action is not None:
            happened = game.act(action)
        else:
            assert isinstance(event, Ejected)
            happened = game.fault(event.color, Fault(event.verdict, event.phase, "as recorded"))
    except FishError as problem:
        raise RecordError(str(problem), line=line.number) from None
    if not happened:
        raise RecordError(f"{color} was ejected before this", line=line.number)


def _event(line: RecordLine) -> Event | None:
    try:
        return event_from_json(line.event)
    except (KeyError, ValueError, TypeError, AttributeError) as problem:
        raise RecordError(f"no event: {problem!r:.200}", line=line.number) from None


def _read_line(raw: bytes, number: int, digest: str, chain: str) -> RecordLine:
    if not raw.endswith(b"\n"):
        raise RecordError("the line is cut off", line=number)
    if raw.endswith(b"\r\n"):
        raise RecordError(
            "the line ends with CR LF and not LF: an editor, git or a transfer has changed the "
            "file's line ends",
            line=number,
        )
    if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
        raise RecordError("the file begins with a byte-order mark, which was added to it", line=1)
    body, mark, _ = raw.rpartition(b',"chain":"')
    try:
        value: object = from_json(raw, allow_inf_nan=False)
    except ValueError:
        raise RecordError("not a line of JSON", line=number) from None
    if not mark or not is_object(value):
        raise RecordError("not a line of a record", line=number)
    if number == 1:  # before the hashes, which another format may make in another way
        _check_format(value.get("event"))
    want = sha256(chain.encode() + body).hexdigest()
    if value.get("chain") != want or raw != body + f',"chain":"{want}"}}\n'.encode():
        raise RecordError(
            "the line, or one before it, was changed: its chain is wrong", line=number
        )
    seq, event, obs = value.get("seq"), value.get("event"), value.get("obs")
    if not is_whole(seq) or not is_object(event) or not is_object(obs):
        raise RecordError("seq, event or obs is missing", line=number)
    if seq != number - 1:
        raise RecordError(f"seq is {seq}, and this line's is {number - 1}", line=number)
    told = _dump(event)
    if value.get("digest") != sha256((digest + told).encode()).hexdigest():
        raise RecordError("its digest is not that of its event", line=number)
    if not body.startswith(f'{{"seq":{seq},"event":{told},"obs":'.encode()):
        raise RecordError("it is not written as records are, compactly and in order", line=number)
    if not isinstance(event.get("kind"), str):
        raise RecordError("its event has no kind", line=number)
    return RecordLine(number, seq, event, obs, str(value["digest"]), want)


def _check_format(header: object) -> None:
    """Refuse a record of another format, newer ones above all, whatever else it is like."""
    if not is_object(header) or header.get("kind") != "start":
        raise RecordError("the first line is no header", line=1)
    version = header.get("format")
    if not is_whole(version) or version != FORMAT:
        raise RecordError(
            f"format {shown(version, 20)} is not known here; this program reads format {FORMAT}",
            line=1,
        )


def _read_header(line: RecordLine) -> Header:
    event = line.event
    game, players, seed = event.get("game"), event.get("players"), event.get("seed")
    if not isinstance(game, str) or not is_array(players) or not is_whole(seed):
        raise RecordError("game, players or seed is missing from the header", line=1)
    try:
        return Header(
            game=game,
            board=Board.from_json(event.get("board")),
            rules=Rules.from_json(event.get("rules")),
            players=tuple(_read_seat(entry) for entry in players),
            seed=seed,
            spec=None if event["spec"] is None else BoardSpec.from_json(event["spec"]),
        )
    except KeyError:
        raise RecordError("spec is missing from the header", line=1) from None
    except ValueError as problem:  # FishErrors of boards and rules too
        raise RecordError(f"the header is wrong: {problem}", line=1) from None


def _read_seat(value: object) -> Seat:
    if not is_object(value):
        raise ValueError("a player is an object with a name and a color")
    name, color = value.get("name"), value.get("color")
    if not isinstance(name, str) or not isinstance(color, str) or color not in list(Color):
        raise ValueError(
            f"a player has the name {shown(name, 40)} and the color {shown(color, 40)}; a name is "
            f"text, and there are {', '.join(Color)}"
        )
    return Seat(name, Color(color))
