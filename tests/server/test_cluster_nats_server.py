"""The bundled NATS server: where it listens, whom it lets in, what it keeps, and its end."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from croupier_server.cluster import extra
from croupier_server.cluster.nats_server import MAX_PAYLOAD, NatsFailed, NatsServer, bundled
from croupier_server.errors import UserError
from support.nats import has_nats
from support.nats import nats_server as nats_server  # noqa: PLC0414 - a fixture
from support.needs import require
from support.processes import all_gone, command_line, is_alive


async def greeted(port: int, host: str = "127.0.0.1", **fields: object) -> bytes:
    """What the server says, after its INFO, to who names itself so and pings."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        assert (await reader.readline()).startswith(b"INFO ")
        options = {"verbose": False, "pedantic": False, **fields}
        writer.write(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
        return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()


def token_of(server: NatsServer) -> str:
    return server.url.removeprefix("nats://").partition("@")[0]


async def test_server_wants_its_token(nats_server: NatsServer) -> None:
    token = token_of(nats_server)
    assert len(token) >= 32
    assert await greeted(nats_server.port, auth_token=token) == b"PONG\r\n"
    assert b"Authorization Violation" in await greeted(nats_server.port)
    assert b"Authorization Violation" in await greeted(nats_server.port, auth_token="guess")


async def test_token_is_in_a_file_for_the_owner_alone(
    nats_server: NatsServer, tmp_path: Path
) -> None:
    token = token_of(nats_server)
    holders = [
        path
        for path in (tmp_path / "nats").rglob("*")
        if path.is_file() and token.encode() in path.read_bytes()
    ]
    assert [path.name for path in holders] == ["nats.conf"]
    if sys.platform != "win32":
        assert stat.S_IMODE(holders[0].stat().st_mode) == 0o600
    if sys.platform == "linux":
        assert "nats-server" in command_line(nats_server.pid)
        assert token not in command_line(nats_server.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is this machine on Linux")
async def test_server_listens_on_loopback_alone(nats_server: NatsServer) -> None:
    """One that listens everywhere would be found at another of this machine's addresses, too."""
    with pytest.raises(ConnectionRefusedError):
        await greeted(nats_server.port, "127.0.0.2")


async def test_restart_and_crash_keep_the_port_and_what_was_published(
    nats_server: NatsServer,
) -> None:
    nats: Any = import_module("nats")
    url = nats_server.url
    client = await nats.connect(url)
    assert client.max_payload == MAX_PAYLOAD
    stream = client.jetstream()
    await stream.add_stream(name="games", subjects=["games.>"])
    await stream.publish("games.1", b"one")
    await client.close()
    await nats_server.restart()
    assert nats_server.url == url
    await nats_server.kill()
    assert not is_alive(nats_server.pid)
    await nats_server.start()
    assert nats_server.url == url
    client = await nats.connect(url)
    message = await client.jetstream().get_msg("games", seq=1)
    await client.close()
    assert message.data == b"one"


async def test_temporary_folder_goes_with_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    require("nats", has_nats(), "the extra [cluster] is not installed")
    server = NatsServer()
    async with server:
        folder, pid = server.log_file.parent, server.pid
        await server.restart()
        assert folder.exists()
    assert not folder.exists()
    assert await all_gone([pid, server.pid], 0) == []


async def test_bundled_gives_the_url(tmp_path: Path) -> None:
    require("nats", has_nats(), "the extra [cluster] is not installed")
    async with bundled(tmp_path) as url:
        assert url.startswith("nats://")
        assert "@127.0.0.1:" in url


async def test_start_that_fails_says_why(nats_server: NatsServer) -> None:
    await nats_server.stop()
    with (
        socket.create_server(("127.0.0.1", nats_server.port)),
        pytest.raises(NatsFailed, match=r"exit status 1 .*address already in use"),
    ):
        await nats_server.start()


async def test_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    require("nats", has_nats(), "the extra [cluster] is not installed")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file: "):
        await NatsServer(tmp_path / "file").start()


async def test_missing_program_is_told_with_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(extra, "_scripts", lambda: tmp_path)
    with pytest.raises(UserError, match=r"croupier-server\[cluster\]"):
        await NatsServer(tmp_path / "nats").start()


PARENT = """
import asyncio
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.options import configure_logs

async def main():
    configure_logs(False)
    async with NatsServer() as server:
        print(server.pid, server._process.pid, server.log_file.parent, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_server_ends_with_a_killed_parent_and_leaves_no_files() -> None:
    require("nats", has_nats(), "the extra [cluster] is not installed")
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    try:
        *pids, folder = (await parent.stdout.readline()).decode().split()
        assert len(pids) == 2
        assert all(is_alive(int(pid)) for pid in pids)
    finally:
        parent.kill()
        await parent.wait()
    assert await all_gone(map(int, pids)) == []
    assert not Path(folder).exists()  # noqa: ASYNC240 - nothing else runs in this loop
