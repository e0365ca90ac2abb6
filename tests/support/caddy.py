"""The proxy of the compose file on this machine, in front of replicas that say who they are.

Docker's DNS is a small server here: it gives the addresses of those replicas that run.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import struct
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from support.compose import ROOT, free_ports

__all__ = ["Front", "Names", "Replica", "fronted", "naming"]

CADDYFILE: Final = ROOT / "docker" / "Caddyfile"
PATIENCE_S: Final = 15.0
TEN_MILLISECONDS: Final = 0.01
_A: Final = 1
_FOUND: Final = 0x8400


class Replica:
    """One of the containers of a role: it answers with its address and the headers that it got.

    Attributes:
        is_draining: whether it turns players away, as a gateway does that is about to stop.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_draining = False

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncGenerator[None]:
        """Be there, at this address."""
        async with serve(
            self._echo, self.address, port, process_request=self._look, compression=None
        ):
            yield

    def _look(self, connection: ServerConnection, request: Request) -> Response | None:
        if self.is_draining:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "come back in a moment\n")
        if "Upgrade" in request.headers:
            return None
        return connection.respond(HTTPStatus.OK, self._told(request))

    async def _echo(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        await connection.send(self._told(connection.request))
        async for message in connection:
            await connection.send(message)

    def _told(self, request: Request) -> str:
        headers = {name.lower(): value for name, value in request.headers.raw_items()}
        return json.dumps({"replica": self.address, "headers": headers})


class Names(asyncio.DatagramProtocol):
    """A DNS server that knows the addresses of some names, whatever domain is put behind them.

    Attributes:
        addresses: of each name; they can change.
        port: where it listens.
    """

    def __init__(self, addresses: Mapping[str, list[str]]) -> None:
        self.addresses = dict(addresses)
        self.port = 0
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        end = data.index(b"\0", 12) + 1
        (kind,) = struct.unpack_from("!H", data, end)
        name = data[13 : 13 + data[12]].decode()
        found = self.addresses.get(name, []) if kind == _A else []
        head = data[:2] + struct.pack("!HHHHH", _FOUND, 1, len(found), 0, 0)
        answers = [
            struct.pack("!HHHIH4B", 0xC00C, _A, 1, 0, 4, *map(int, address.split(".")))
            for address in found
        ]
        self._transport.sendto(head + data[12 : end + 4] + b"".join(answers), addr)


@asynccontextmanager
async def naming(addresses: Mapping[str, list[str]]) -> AsyncGenerator[Names]:
    """A DNS server for these names."""
    loop = asyncio.get_running_loop()
    transport, names = await loop.create_datagram_endpoint(
        lambda: Names(addresses), local_addr=("127.0.0.1", 0)
    )
    try:
        yield names
    finally:
        transport.close()


@dataclass(frozen=True, slots=True)
class Front:
    """The proxy, seen from outside.

    Attributes:
        http: the port without TLS.
        https: the port with it.
        root: the certificate by which its own is signed, once it has made one.
    """

    http: int
    https: int
    root: Path

    def trusting(self, root: Path | None = None) -> ssl.SSLContext:
        """What a player or a browser knows that trusts the proxy."""
        return ssl.create_default_context(cafile=root or self.root)

    async def joined(self, message: str = "", context: ssl.SSLContext | None = None) -> Any:
        """Connect as a player; gives what the replica said, after it has sent a message back."""
        tls = context or self.trusting()
        async with connect(f"wss://localhost:{self.https}/", ssl=tls, proxy=None) as player:
            told = json.loads(await player.recv())
            await player.send(message)
            assert await player.recv() == message
            return told

    async def page(self, headers: Mapping[str, str] | None = None) -> Any:
        """Look at a page; gives what the replica said."""
        url = f"https://localhost:{self.https}/"
        async with httpx.AsyncClient(verify=self.trusting(), trust_env=False) as client:
            answer = await client.get(url, headers=headers)
        assert answer.status_code == HTTPStatus.OK, answer.text
        return answer.json()


@asynccontextmanager
async def fronted(
    folder: Path, gateways: list[Replica], web: Replica, tls: str = "internal"
) -> AsyncGenerator[tuple[Front, Names]]:
    """Run the proxy in front of replicas, with what the compose file calls TLS."""
    http, https, health, players, pages = free_ports(5)
    addresses = {"gateway": [one.address for one in gateways], "web": [web.address]}
    async with AsyncExitStack() as stack:
        for one in gateways:
            await stack.enter_async_context(one.listening(players))
        await stack.enter_async_context(web.listening(pages))
        names = await stack.enter_async_context(naming(addresses))
        here = {
            "\tadmin off": f"\tadmin off\n\thttp_port {http}\n\thttps_port {https}\n"
            "\tdefault_bind 127.0.0.1",
            "http://:2015": f"http://:{health}",
            "port 8000": f"port {players}\n\t\t\tresolvers udp/127.0.0.1:{names.port}",
            "port 8080": f"port {pages}\n\t\t\tresolvers udp/127.0.0.1:{names.port}",
            "refresh 2s": "refresh 100ms",
        }
        urls = (f"http://127.0.0.1:{health}/healthz", f"https://localhost:{https}/")
        await stack.enter_async_context(_running(folder, _templated(here), tls, urls))
        root = folder / "data" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        yield Front(http, https, root), names


def _templated(here: Mapping[str, str]) -> str:
    """The proxy's settings, for this machine."""
    text = CADDYFILE.read_text(encoding="utf-8")
    for there, other in here.items():
        assert there in text, there
        text = text.replace(there, other)
    return text


@asynccontextmanager
async def _running(
    folder: Path, settings: str, tls: str, urls: Sequence[str]
) -> AsyncGenerator[None]:
    """Run the proxy with these settings, once it answers at all of these."""
    path = folder / "Caddyfile"
    path.write_text(settings, encoding="utf-8")
    places = {name: str(folder / "data") for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    process = await asyncio.create_subprocess_exec(
        *("caddy", "run", "--adapter", "caddyfile", "--config", str(path)),
        env={**os.environ, **places, "SITE": "localhost", "TLS": tls},
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    assert process.stderr is not None
    reading = asyncio.create_task(process.stderr.read())
    try:
        for url in urls:
            await _answers(url, reading)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await reading


async def _answers(url: str, reading: asyncio.Task[bytes]) -> None:
    """Wait until there is an answer, under whatever certificate."""
    deadline = time.monotonic() + PATIENCE_S
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        while time.monotonic() < deadline:
            if reading.done():
                raise AssertionError(reading.result().decode())
            try:
                if (await client.get(url)).status_code == HTTPStatus.OK:
                    return
            except httpx.TransportError:
                await asyncio.sleep(TEN_MILLISECONDS)
    raise AssertionError(f"the proxy is not there after {PATIENCE_S:g} s")
