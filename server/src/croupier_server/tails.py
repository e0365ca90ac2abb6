"""What is told of games that are watched, each thing encoded once for all who watch it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

from croupier_server.storage.news import Ended, News, Running

__all__ = ["Audience", "Frame", "Outlet", "Tail", "Wall"]

MAX_SHOWN: Final = 16
"""How many games a wall shows at a time."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Server-sent events that are sent together.

    Attributes:
        chunk: the same as a chunk of HTTP/1.1's chunked coding, in which an empty one is the end.
    """

    data: bytes
    chunk: bytes

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The frame of some events."""
        assert data
        return cls(data, b"%x\r\n%b\r\n" % (len(data), data))


class Outlet(Protocol):
    """A viewer's end of its connection; nothing here waits for the viewer."""

    def put(self, frame: Frame) -> bool:
        """Send a frame; False if too much is unread, and nothing was sent."""
        ...

    def close(self) -> None:
        """End the stream after what was put."""
        ...

    def drop(self) -> None:
        """End the connection at once, whatever is on its way."""
        ...


class Audience:
    """Who watches one thing.

    Attributes:
        told: when they were last told something, by the monotonic clock.
    """

    def __init__(self) -> None:
        self.told = time.monotonic()
        self._outlets: dict[Outlet, None] = {}
        self._is_closed = False

    def add(self, outlet: Outlet) -> None:
        """Tell one more from now on; its stream ends at once if all have ended."""
        if self._is_closed:
            outlet.close()
        else:
            self._outlets[outlet] = None

    def remove(self, outlet: Outlet) -> None:
        """Tell one no more; again changes nothing."""
        self._outlets.pop(outlet, None)

    def outlets(self) -> Sequence[Outlet]:
        """All who are there."""
        return list(self._outlets)

    def drop(self, outlet: Outlet) -> None:
        """Cut one off."""
        self.remove(outlet)
        outlet.drop()

    def close(self) -> None:
        """End the streams of all, and of who comes later."""
        self._is_closed = True
        for outlet in self.outlets():
            self.remove(outlet)
            outlet.close()


class Tail:
    """A game that is followed.

    Attributes:
        game: its row.
        name: what it is called on the wire.
        holders: how many keep it.
        seq: the last line that is known; -1 for none.
        end: how it ended, once nothing more can come.
    """

    def __init__(self, game: int, name: str) -> None:
        self.game: Final = game
        self.name: Final = name
        self.audience: Final = Audience()
        self.holders = 0
        self.seq = -1
        self.end: Ended | None = None
        self._header = "{}"
        self._lines: list[str] = []  # all after the header, so that line n is at n - 1
        self._state: Ended | None = None
        self._snapshot: Frame | None = None

    def take(self, news: News) -> Frame | None:
        """Take what is new; gives what those who watch have to be told, if anything."""
        before, events = self.seq, b""
        fresh = [line for seq, line in news.lines if seq > before]
        if fresh:
            self.seq = news.lines[-1][0]
            if before < 0:
                self._header = _event_of(fresh.pop(0))
            self._lines += fresh
            events += _event("lines", _object(_listed(fresh)), self.seq)
        if news.end is not None and news.end != self._state:
            self._state = news.end
            self.end = news.end if news.end.is_last else None
            events += self._told_state()
        if not events:
            return None
        self._snapshot = None
        return Frame.of(events)

    def begin(self, outlet: Outlet, after: int | None = None) -> None:
        """Let one watch: it gets what there is, then what follows.

        Args:
            after: the last line that it has; it gets only what comes after that.
        """
        if after is not None and 0 <= after <= self.seq:
            outlet.put(Frame.of(self._missed(after) + self._told_state()))
        else:
            if self._snapshot is None:
                data = _object(f'"header":{self._header}', _listed(self._lines))
                self._snapshot = Frame.of(_event("snapshot", data, self.seq) + self._told_state())
            outlet.put(self._snapshot)
        if self.end is None:
            self.audience.add(outlet)
        else:
            outlet.close()

    @property
    def ended(self) -> Ended | None:
        """How it ended, be it played again as a game that nobody knows yet."""
        return self._state

    def told_whole(self, until: int) -> bytes:
        """The event with which a wall begins to show it, up to a line."""
        lines = _listed(self._lines[:until])
        return _event("game", _object(self._named(), f'"header":{self._header}', lines))

    def told_lines(self, after: int) -> bytes:
        """The event with which a wall goes on to show it, after a line."""
        return _event("lines", _object(self._named(), _listed(self._lines[after:])))

    def _missed(self, after: int) -> bytes:
        if after == self.seq:
            return b": you have all there is\n\n"
        return _event("lines", _object(_listed(self._lines[after:])), self.seq)

    def _told_state(self) -> bytes:
        if self._state is None:
            return b""
        return _event("end" if self._state.is_last else "state", json.dumps(self._state.to_json()))

    def _named(self) -> str:
        return f'"game":{json.dumps(self.name)}'


@dataclass(slots=True)
class _Shown:
    """A game on a wall, and the last line that those who watch the wall have; -1 for none."""

    tail: Tail
    seq: int = -1


class Wall:
    """A tournament's running games side by side; one that ends makes room for another.

    Attributes:
        holders: how many keep it.
        is_over: whether the tournament is over.
    """

    def __init__(self, tournament: int) -> None:
        self.tournament: Final = tournament
        self.audience: Final = Audience()
        self.holders = 0
        self.is_over = False
        self._shown: dict[int, _Shown] = {}

    @property
    def games(self) -> Sequence[int]:
        """The rows of the games that it shows."""
        return list(self._shown)

    def take(self, running: Running, tail: Callable[[int, str], Tail]) -> Frame | None:
        """Take what the tails have taken; gives what those who watch have to be told, if anything.

        Args:
            tail: gives the tail of a game that is shown from now on.
        """
        events = b"".join(self._take_game(one) for one in list(self._shown.values()))
        for game, name in running.games.items():
            if len(self._shown) >= MAX_SHOWN:
                break
            if game not in self._shown:
                self._shown[game] = _Shown(tail(game, name))
                events += self._take_game(self._shown[game])
        self.is_over = running.is_over and not self._shown
        if self.is_over:
            events += _event("end", "{}")
        return Frame.of(events) if events else None

    def begin(self, outlet: Outlet) -> None:
        """Let one watch: it gets the games as far as the others have them, then what follows."""
        shown = (one.tail.told_whole(one.seq) for one in self._shown.values() if one.seq >= 0)
        outlet.put(Frame.of(_event("wall", "{}") + b"".join(shown)))
        self.audience.add(outlet)

    def _take_game(self, shown: _Shown) -> bytes:
        tail, before = shown.tail, shown.seq
        shown.seq = tail.seq
        told = b""
        if tail.seq > before:
            told = tail.told_whole(tail.seq) if before < 0 else tail.told_lines(before)
        if tail.ended is not None:
            del self._shown[tail.game]
            told += _event("over", json.dumps({"game": tail.name, **tail.ended.to_json()}))
        return told


def _event(kind: str, data: str, seq: int | None = None) -> bytes:
    """A server-sent event; `data` is JSON without newlines."""
    number = "" if seq is None else f"id: {seq}\n"
    return f"event: {kind}\n{number}data: {data}\n\n".encode()


def _object(*members: str) -> str:
    return f"{{{','.join(members)}}}"


def _listed(lines: Sequence[str]) -> str:
    return f'"lines":[{",".join(lines)}]'


def _event_of(line: str) -> str:
    """The event of a record's line, as JSON."""
    return json.dumps(json.loads(line)["event"], separators=(",", ":"))
