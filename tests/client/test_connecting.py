"""Getting through to a server."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from croupier_client import connecting
from croupier_client.connecting import Unreachable, check_url, open_connection
from croupier_client.errors import BadURL
from support.netns import Net

SERVER = """
import asyncio, sys
from websockets.asyncio.server import serve

async def greet(connection):
    await connection.send("hello")
    await connection.wait_closed()

async def main():
    async with serve(greet, sys.argv[1], 0, ping_interval=None) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()

asyncio.run(main())
"""


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def silent(connection: ServerConnection) -> None:
    await connection.wait_closed()


@pytest.mark.parametrize(
    "url", ["ws://127.0.0.1:8000", "wss://example.org", "ws://[::1]:80/play?x=1", "ws://host"]
)
def test_url_that_is_right_passes(url: str) -> None:
    assert check_url(url) == url


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("http://127.0.0.1:8000", "begins neither with ws:// nor with wss://"),
        ("127.0.0.1:8000", "begins neither"),
        ("", "begins neither"),
        ("ws://", "names no host"),
        ("ws://:80", "names no host"),
        ("ws://host:99999", "Port out of range"),
        ("ws://host:x", "Port could not be cast"),
        ("ws://host:0", "names no host and port"),
        ("ws://a host:80", "names no host"),
        ("ws://host:80/#here", "has a '#'"),
        ("ws://[::1:80", "Invalid IPv6"),
        ("ws://..:80", "label empty"),
        (f"ws://{'h' * 300}:80", "label too long"),
    ],
)
def test_url_that_is_wrong_is_told_in_one_line(url: str, wrong: str) -> None:
    with pytest.raises(BadURL, match=wrong) as told:
        check_url(url)
    assert "ws://HOST:PORT" in str(told.value)
    assert "\n" not in str(told.value)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds


async def test_connection_refused_is_told_once_and_given_up_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(connecting, "time", clock)
    monkeypatch.setattr("croupier_client.connecting.asyncio.sleep", clock.sleep)

    async def refuse(_url: str, timeout_s: float) -> None:
        assert 0 < timeout_s <= 10
        raise ConnectionRefusedError

    monkeypatch.setattr(connecting, "_attempt", refuse)
    told: list[str] = []

    with pytest.raises(Unreachable) as gave_up:
        await open_connection("ws://here:1", retry_s=10, tell=told.append)

    reason = "connection refused; is a server running there?"
    assert told == [f"no connection to ws://here:1 yet: {reason}; trying for 10 s more"]
    assert str(gave_up.value) == f"no connection to ws://here:1 within 10 s: {reason}"
    assert clock.slept == [0.1, 0.2, 0.4, 0.8, *[1.0] * 8, 0.5]


async def test_connection_without_retry_is_given_up_at_once() -> None:
    told: list[str] = []

    with pytest.raises(Unreachable, match=r"^no connection to ws://\S+: connection refused"):
        await open_connection(f"ws://127.0.0.1:{free_port()}", retry_s=0, tell=told.append)

    assert told == []


async def test_connection_to_a_late_server_comes_about() -> None:
    port = free_port()
    failed = asyncio.Event()

    async with asyncio.TaskGroup() as group:
        trying = group.create_task(
            open_connection(f"ws://127.0.0.1:{port}", retry_s=10, tell=lambda _text: failed.set())
        )
        await failed.wait()
        async with serve(silent, "127.0.0.1", port), await trying as connection:
            await (await connection.ping())


async def test_server_that_is_full_is_tried_again() -> None:
    told: list[str] = []

    def answer(connection: ServerConnection, _request: Request) -> Response | None:
        return None if told else connection.respond(503, "full\n")

    async with serve(silent, "127.0.0.1", 0, process_request=answer) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url = f"ws://127.0.0.1:{port}"
        async with await open_connection(url, retry_s=20, tell=told.append):
            assert "yet: it answered with HTTP status 503; trying for " in told[0]


async def test_address_that_has_no_server_is_given_up_at_once() -> None:
    def answer(connection: ServerConnection, _request: Request) -> Response:
        return connection.respond(404, "not here\n")

    async with serve(silent, "127.0.0.1", 0, process_request=answer) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        with pytest.raises(Unreachable, match="it answered with HTTP status 404"):
            await open_connection(f"ws://127.0.0.1:{port}", retry_s=20, tell=pytest.fail)


async def test_something_else_that_listens_is_no_server() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match="what answers there is no WebSocket server"):
            await open_connection(f"ws://127.0.0.1:{port}", retry_s=10, tell=pytest.fail)


async def test_name_that_is_unknown_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_url: str, _timeout_s: float) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(connecting, "_attempt", fail)
    with pytest.raises(Unreachable, match="Name or service not known"):
        await open_connection("ws://nowhere.invalid", retry_s=0, tell=pytest.fail)


@pytest.mark.full
async def test_server_whose_machine_is_gone_is_found_out_by_who_only_waits() -> None:
    with Net() as net:
        here, there = net.here(), net.host("server")
        serving = there.popen(
            [sys.executable, "-c", SERVER, there.address], stdout=subprocess.PIPE, text=True
        )
        try:
            assert serving.stdout is not None
            port = int(await asyncio.to_thread(serving.stdout.readline))
            url = f"ws://{there.address}:{port}"
            connection = await open_connection(url, retry_s=10, tell=pytest.fail)
            assert await connection.recv() == "hello"
            await asyncio.to_thread(there.cut)
            began = time.monotonic()
            with pytest.raises(ConnectionClosed):
                async with asyncio.timeout(30):
                    await connection.recv()
            assert time.monotonic() - began < 20
            assert here
        finally:
            serving.kill()
            serving.communicate()
