"""Games watched over real sockets, on the pages' own port."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from croupier_server.settings import Settings
from croupier_server.spectators import Spectators
from croupier_server.storage import news
from croupier_server.storage.database import Database
from croupier_server.web import streams
from croupier_server.web.server import WebServer
from croupier_server.web.views import Views
from support.viewers import Ear, Played, Told, begin_cup, parsed, soon

EVENTS = "/t/cup/g/1.1/events"


@dataclass
class Scene:
    """A database that is played on, and its pages."""

    database: Database
    server: WebServer
    games: list[Played]
    viewers: list[Any] = field(default_factory=list[Any])

    @property
    def spectators(self) -> Spectators:
        """What tells them."""
        server: Any = self.server
        app = server._server.config.app
        found: Spectators = app.state.site.services["spectators"]
        return found


@pytest.fixture
def limits() -> tuple[int, int]:
    """How many may watch, in all and from one address."""
    return 6, 5


@pytest.fixture
async def scene(tmp_path: Path, limits: tuple[int, int]) -> AsyncIterator[Scene]:
    settings = Settings.model_validate(
        {
            "storage": {"data": tmp_path},
            "web": {
                "port": 0,
                "host": "127.0.0.1",
                "max_viewers": limits[0],
                "max_viewers_per_address": limits[1],
            },
        }
    )
    async with await Database.open(tmp_path) as database:
        games = await begin_cup(database, 3)
        server = WebServer(settings, database)
        await server.start()
        found = Scene(database, server, games)
        try:
            yield found
        finally:
            await server.stop()
            for viewer in found.viewers:
                await viewer.close()


@dataclass
class Viewer:
    """A connection that reads a stream, or doesn't."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: bytes = b""
    body: bytes = b""
    is_over: bool = False

    @classmethod
    async def get(
        cls,
        scene: Scene,
        path: str,
        *more: str,
        method: str = "GET",
        version: str = "1.1",
        narrow: bool = False,
    ) -> Self:
        """Ask for a page."""
        raw = socket.socket()
        if narrow:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", scene.server.port))
        reader, writer = await asyncio.open_connection(sock=raw, limit=1024 if narrow else 2**16)
        asked = [f"{method} {path} HTTP/{version}", "Host: localhost", *more, "", ""]
        writer.write("\r\n".join(asked).encode())
        scene.viewers.append(viewer := cls(reader, writer))
        return viewer

    async def listen(self) -> None:
        """Read the head, then chunks until the last; raise EOFError if the connection ends."""
        async with asyncio.timeout(20):
            while not self.head.endswith(b"\r\n\r\n"):
                self.head += await self.reader.readline() or self._eof()
            if b"transfer-encoding: chunked" not in self.head.lower():
                self.body = await self.reader.read(1_000_000)
                while more := await self.reader.read(1_000_000):
                    self.body += more
                self.is_over = True
                return
            while size := int(await self.reader.readline() or self._eof(), 16):
                chunk = await self.reader.readexactly(size + 2)
                assert chunk.endswith(b"\r\n")
                self.body += chunk[:-2]
            self.is_over = True

    @staticmethod
    def _eof() -> bytes:
        raise EOFError

    @property
    def status(self) -> int:
        """The status code."""
        return int(self.head.split()[1])

    @property
    def told(self) -> list[Told]:
        """The events so far."""
        return parsed(self.body[: self.body.rindex(b"\n\n") + 2]) if b"\n\n" in self.body else []

    @property
    def seqs(self) -> list[int]:
        """The numbers of the lines so far."""
        return [line["seq"] for one in self.told for line in one.data.get("lines", [])]

    async def close(self) -> None:
        """Hang up; again changes nothing."""
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


async def test_stream_has_all_lines_and_ends_in_order(scene: Scene) -> None:
    (played, *_) = scene.games
    await played.go_on(2)
    viewer = await Viewer.get(scene, EVENTS)
    listening = asyncio.create_task(viewer.listen())
    await soon(lambda: bool(viewer.told))
    await played.go_on(3)
    await soon(lambda: viewer.seqs == [1, 2, 3, 4, 5])
    await played.end()
    await listening
    assert viewer.is_over
    assert [viewer.told[0].kind, viewer.told[-1].kind] == ["snapshot", "end"]
    assert viewer.seqs == [1, 2, 3, 4, 5, 6]
    head = viewer.head.lower()
    assert b"content-type: text/event-stream" in head
    assert b"cache-control: no-store" in head
    assert b"content-security-policy: default-src 'none'" in head
    assert viewer.body.startswith(b"retry: ")


async def test_connection_that_is_lost_goes_on_after_the_last_line(scene: Scene) -> None:
    (played, *_) = scene.games
    first = await Viewer.get(scene, EVENTS)
    listening = asyncio.create_task(first.listen())
    await played.go_on(4)
    await soon(lambda: 4 in first.seqs)
    listening.cancel()
    await first.close()
    await played.go_on(3)
    second = await Viewer.get(scene, EVENTS, f"Last-Event-ID: {first.told[-1].id}")
    strange = await Viewer.get(scene, EVENTS, "Last-Event-ID: ²²; drop")
    async with asyncio.TaskGroup() as group:
        group.create_task(second.listen())
        group.create_task(strange.listen())
        await played.end()
    assert second.seqs == [5, 6, 7, 8]
    assert strange.seqs == list(range(1, 9))


async def test_viewer_that_never_reads_is_cut_off_and_holds_up_nobody(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_UNREAD", 32 * 1024)
    (played, *_) = scene.games
    deaf = await Viewer.get(scene, EVENTS, narrow=True)  # and nothing is read
    good = await Viewer.get(scene, EVENTS)
    listening = asyncio.create_task(good.listen())
    spectators = scene.spectators
    await soon(lambda: spectators.viewers == 2)
    for _ in range(400):
        await played.go_on(300)
        if spectators.viewers == 1:
            break
        await asyncio.sleep(0.02)
    else:
        pytest.fail("it was never dropped")
    await played.end()
    await listening
    assert good.seqs == list(range(1, played.seq + 1))
    with pytest.raises((ConnectionError, EOFError, asyncio.IncompleteReadError)):
        await deaf.listen()


async def test_http_1_0_and_head_are_answered(scene: Scene) -> None:
    (played, *_) = scene.games
    await played.go_on(2)
    old = await Viewer.get(scene, EVENTS, version="1.0")
    listening = asyncio.create_task(old.listen())
    head = await Viewer.get(scene, EVENTS, "Connection: close", method="HEAD")
    answer = await head.reader.read()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\n")
    await played.end()
    await listening
    assert [old.told[0].kind, old.told[-1].kind] == ["snapshot", "end"]
    assert old.seqs == [1, 2, 3]


@pytest.mark.parametrize("limits", [(3, 0), (3, 250)], ids=["any address", "each address"])
async def test_limit_on_all_viewers_is_a_setting(scene: Scene) -> None:
    for _ in range(3):
        await Viewer.get(scene, EVENTS)
    await soon(lambda: scene.spectators.viewers == 3)
    late = await Viewer.get(scene, EVENTS, "Connection: close")
    await late.listen()
    assert late.status == 503
    assert b"retry-after" in late.head.lower()
    page = await Viewer.get(scene, "/t/cup", "Connection: close")
    await page.listen()
    assert page.status == 200  # who only reads is no viewer


@pytest.mark.parametrize("limits", [(20, 0)])
async def test_limit_on_an_address_can_be_off_as_behind_a_proxy(scene: Scene) -> None:
    for _ in range(12):
        await Viewer.get(scene, EVENTS)
    await soon(lambda: scene.spectators.viewers == 12)


async def test_who_is_one_too_many_is_told(scene: Scene) -> None:
    taken = [await Viewer.get(scene, EVENTS) for _ in range(5)]
    spectators = scene.spectators
    await soon(lambda: spectators.viewers == 5)
    late = await Viewer.get(scene, EVENTS, "Connection: close")
    await late.listen()
    assert late.status == 429
    assert b"retry-after" in late.head.lower()
    await taken[0].close()
    await soon(lambda: spectators.viewers == 4)
    again = await Viewer.get(scene, EVENTS)
    await soon(lambda: spectators.viewers == 5)
    for viewer in [*taken[1:], late, again]:
        await viewer.close()
    await soon(lambda: not spectators.is_watching)


async def test_what_is_not_there_is_a_404(scene: Scene) -> None:
    for path in ("/t/cup/g/9.9/events", "/t/no/g/1.1/events", "/t/no/live/events", "/t/no/live"):
        viewer = await Viewer.get(scene, path, "Connection: close")
        await viewer.listen()
        assert viewer.status == 404, path


async def test_stop_ends_streams_at_once(scene: Scene) -> None:
    viewer, wall = await Viewer.get(scene, EVENTS), await Viewer.get(scene, "/t/cup/live/events")
    listening = [asyncio.create_task(one.listen()) for one in (viewer, wall)]
    await soon(lambda: bool(viewer.told and wall.told))
    async with asyncio.timeout(1):
        await scene.server.stop()
    await asyncio.gather(*listening)
    assert viewer.is_over
    assert wall.is_over
    assert "end" not in [one.kind for one in viewer.told]  # it is to come back


async def test_stop_waits_for_spectators_that_no_answer_waits_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    spectators, look = scene.spectators, news.look
    looking, go_on = threading.Event(), threading.Event()

    def held_up(*args: Any) -> Any:
        looking.set()
        assert go_on.wait(20)
        return look(*args)

    async with spectators.game("cup", "1.1") as tail:
        tail.begin(ear := Ear(), None)
        monkeypatch.setattr(news, "look", held_up)
        await soon(looking.is_set)
        asyncio.get_running_loop().call_later(0.5, go_on.set)  # the pages have stopped by then
        await scene.server.stop()
        assert go_on.is_set()
        assert not spectators.is_watching
        assert ear.is_closed


async def test_wall_is_made_where_it_holds_up_no_game(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def view(*_: object) -> None:
        pytest.fail("the server's own process is to read no tournament for it")

    monkeypatch.setattr(Views, "view", view)  # there, and in no process beside it
    for path in ("/t/cup/live", "/t/cup/live.json"):
        page = await Viewer.get(scene, path, "Connection: close")
        await page.listen()
        assert page.status == 200
        assert b"1.2" in page.body


async def test_wall_is_a_page_with_a_twin_and_a_stream(scene: Scene) -> None:
    page = await Viewer.get(scene, "/t/cup/live", "Connection: close")
    await page.listen()
    assert page.status == 200
    assert b'href="/t/cup/g/1.2"' in page.body
    twin = await Viewer.get(scene, "/t/cup/live.json", "Connection: close")
    await twin.listen()
    told = json.loads(twin.body)
    assert [game["game"] for game in told["games"]] == ["1.1", "1.2", "1.3"]
    assert told["tournament"]["name"] == "cup"
    wall = await Viewer.get(scene, "/t/cup/live/events")
    listening = asyncio.create_task(wall.listen())
    await soon(lambda: [one.kind for one in wall.told].count("game") == 3)
    await scene.games[1].go_on()
    await soon(lambda: wall.told[-1].kind == "lines")
    assert wall.told[-1].data["game"] == "1.2"
    listening.cancel()
