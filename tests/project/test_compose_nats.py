"""NATS as the compose file starts it: with a token, JetStream, and room for long messages."""

from __future__ import annotations

import asyncio
import json
import time
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from croupier_server.cluster.extra import find_nats_server
from croupier_server.cluster.nats_server import MAX_PAYLOAD
from croupier_server.errors import UserError
from support.compose import ROOT, VALUES, free_ports, mounts, read_compose
from support.needs import require

PATIENCE_S = 10.0


def spec() -> dict[str, Any]:
    found: dict[str, Any] = read_compose()["services"]["nats"]
    return found


@asynccontextmanager
async def running(folder: Path) -> AsyncGenerator[int]:
    """Run what the container runs; gives its port."""
    program, *arguments = spec()["command"]
    assert program == "nats-server"
    port, health = free_ports(2)
    settings = folder / "nats.conf"
    inside, mounted = next(iter(mounts(spec(), ROOT).items()))
    assert f"--config={inside}" in arguments
    text = mounted.read_text(encoding="utf-8")
    settings.write_text(text.replace("/data", str(folder / "data")), encoding="utf-8")
    kept = [argument for argument in arguments if not argument.startswith("--config=")]
    here = [f"--config={settings}", "--addr=127.0.0.1", f"--port={port}", f"--http_port={health}"]
    process = await asyncio.create_subprocess_exec(
        find_nats_server(), *kept, *here, stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        path = urlsplit(str(spec()["healthcheck"]["test"][-1])).path
        await healthy(f"http://127.0.0.1:{health}{path}", process)
        yield port
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def healthy(url: str, process: asyncio.subprocess.Process) -> None:
    """Wait until the health check is content."""
    deadline = time.monotonic() + PATIENCE_S
    async with httpx.AsyncClient(trust_env=False) as client:
        while time.monotonic() < deadline and process.returncode is None:
            try:
                if (await client.get(url)).status_code == HTTPStatus.OK:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.01)
    raise AssertionError(f"no NATS: exit code {process.returncode}")


async def greeted(port: int, token: str) -> tuple[dict[str, Any], str]:
    """What it says of itself, and what it answers to who has a token."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            info = json.loads((await reader.readline()).removeprefix(b"INFO "))
            options = json.dumps({"auth_token": token, "verbose": False})
            writer.write(f"CONNECT {options}\r\nPING\r\n".encode())
            return info, (await reader.readline()).decode().strip()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_nats_wants_the_token_and_keeps_streams(tmp_path: Path) -> None:
    try:
        find_nats_server()
    except UserError as problem:
        require("nats", None, str(problem))
    async with running(tmp_path) as port:
        info, answer = await greeted(port, VALUES["NATS_TOKEN"])
        assert answer == "PONG"
        assert info["jetstream"] is True
        assert info["max_payload"] == MAX_PAYLOAD
        _, answer = await greeted(port, "another")
        assert "Authorization Violation" in answer
    assert (tmp_path / "data" / "jetstream").is_dir()
