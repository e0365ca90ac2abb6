"""The pages of a real server, over real sockets, while it plays and by themselves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from croupier_common.record import read_record
from croupier_server.app import App
from croupier_server.errors import UserError
from croupier_server.settings import Settings
from croupier_server.tournament.progress import Progress, RoundBegins
from croupier_server.web.security import HEADERS
from croupier_server.web.server import WebServer
from support.results import played
from support.web import keep
from support.wire import Script, quick_settings, thinks


def web_settings(data: Path | str, name: str = "test") -> Settings:
    house = ["a=greedy", "b=first", "c=random"]
    return quick_settings(
        storage={"data": data},
        web={"port": 0},
        lobby={"house": house, "min_players": 3, "max_players": 4, "wait_ms": 60_000},
        tournament={"name": name},
    )


@asynccontextmanager
async def pages(data: Path) -> AsyncGenerator[httpx.AsyncClient]:
    """Pages by themselves."""
    server = WebServer(quick_settings(storage={"data": data}, web={"port": 0}))
    try:
        await server.start()
        async with httpx.AsyncClient(base_url=server.url, timeout=20) as client:
            yield client
    finally:
        await server.stop()


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
async def test_tournament_is_seen_while_it_is_gathered_and_played(
    in_memory: bool, tmp_path: Path
) -> None:
    loop = asyncio.get_running_loop()
    port: asyncio.Future[int] = loop.create_future()
    url: asyncio.Future[str] = loop.create_future()
    begun = asyncio.Event()

    def progress(news: Progress) -> None:
        if isinstance(news, RoundBegins):
            begun.set()

    app = App(
        web_settings("" if in_memory else tmp_path),
        listening=port.set_result,
        web_listening=url.set_result,
        progress=progress,
    )
    server = asyncio.create_task(app.run())
    async with httpx.AsyncClient(base_url=await url, timeout=20) as client:
        waiting = (await client.get("/t/test.json")).json()
        assert waiting["tournament"]["status"] == "gathering"
        connect = (await client.get("/connect.json")).json()
        assert connect["address"] == f"ws://127.0.0.1:{await port}"
        assert connect["rooms"] == ["test"]
        joined = asyncio.Event()
        slow = Script("d", thinks("move", 0.15))
        playing = asyncio.create_task(slow.play(port.result(), joined))
        await begun.wait()
        await asyncio.sleep(0.5)  # until a page that was just made is looked after
        page = await client.get("/t/test")
        found = (await client.get("/t/test.json")).json()
        record = await client.get("/t/test/g/1.1/record.jsonl")
    assert found["tournament"]["status"] == "running"
    assert found["tournament"]["games"]["running"] == 1
    assert page.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert record.text.startswith('{"seq":0,"event":{"kind":"start"')
    await playing
    result = await server
    assert len(result.standings) == 4


async def test_pages_by_themselves_show_what_was_played(tmp_path: Path) -> None:
    settings = web_settings(tmp_path, "cup")
    lobby = settings.lobby.model_copy(update={"max_players": 3})
    await App(settings.model_copy(update={"lobby": lobby})).run()
    async with pages(tmp_path) as client:
        home = (await client.get("/index.json")).json()
        assert home["tournaments"][0]["status"] == "finished"
        assert home["tournaments"][0]["winners"]
        player = (await client.get("/t/cup/p/a.json")).json()
        record = await client.get("/t/cup/g/1.1/record.jsonl")
        archive = await client.get("/t/cup/downloads/all.zip")
    assert player["rating"]["low"] < player["rating"]["rating"] < player["rating"]["high"]
    assert sum(one["answers"] for one in player["think_times"]) == player["games"][0]["turns"]
    assert read_record(line.encode() for line in record.text.splitlines(keepends=True)).is_whole
    assert archive.content.startswith(b"PK")


async def test_process_that_makes_pages_is_replaced(tmp_path: Path) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b")])
    async with pages(tmp_path) as client:
        assert (await client.get("/t/cup")).status_code == 200
        _end_children()
        answer = await client.get("/t/cup/games")
    assert answer.status_code == 200


async def test_refused_requests_are_refused_over_sockets_too(tmp_path: Path) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b")])
    async with pages(tmp_path) as client:
        assert (await client.post("/t/cup")).status_code == 405
        assert (await client.get("/t/cup/p/none.json")).status_code == 404
        base = httpx.URL(client.base_url)
        for raw in (b"GET /static/../site.py", b"GET /static/..%2f..%2fsettings.py"):
            answer = await _raw(base.port or 0, raw + b" HTTP/1.0\r\n\r\n")
            assert b" 404 " in answer.splitlines()[0]
        answer = await _raw(base.port or 0, b"GET /" + b"x" * 100_000 + b" HTTP/1.0\r\n\r\n")
        assert answer.split(b" ")[1] in {b"400", b"404"}  # by how it comes in


async def test_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b")])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = WebServer(quick_settings(storage={"data": tmp_path}, web={"port": port}))
        with pytest.raises(UserError, match=f"can't show the pages on 127.0.0.1 port {port}"):
            await server.start()
        await server.stop()
        await server.stop()


async def test_no_database_is_one_line(tmp_path: Path) -> None:
    server = WebServer(quick_settings(storage={"data": tmp_path / "none"}, web={"port": 0}))
    with pytest.raises(UserError, match=r"no croupier\.db here"):
        await server.start()
    await server.stop()


def _end_children() -> None:
    """End the processes of this one that make pages, as a system without memory would."""
    import multiprocessing

    for child in multiprocessing.active_children():
        child.kill()
        child.join()


async def _raw(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(65_536), 5)
    finally:
        writer.close()
