"""Roles whose way to NATS is encrypted, as the page about clusters tells how."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from croupier_server.cluster import link as module
from croupier_server.cluster.extra import find_nats_server
from croupier_server.cluster.link import Link
from croupier_server.cluster.wire import Message
from croupier_server.errors import UserError
from integration.test_identity import certificate
from support.compose import free_ports
from support.hosts import require_cluster

ROOT = "test.1"
TRUSTED = "SSL_CERT_FILE"


@asynccontextmanager
async def encrypted(folder: Path) -> AsyncGenerator[tuple[int, Path]]:
    """A NATS server that speaks TLS and wants a token; gives its port, and whom to trust."""
    require_cluster()
    cert, key = await asyncio.to_thread(certificate, folder)
    (port,) = free_ports(1)
    options = ["-a", "127.0.0.1", "-p", str(port), "--auth", "s3cret"]
    options += ["--tls", "--tlscert", str(cert), "--tlskey", str(key)]
    process = await asyncio.create_subprocess_exec(
        str(find_nats_server()), *options, stdout=DEVNULL, stderr=PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(20):
            while b"Server is ready" not in (line := await process.stderr.readline()):
                assert line, "it did not start"
        yield port, cert
    finally:
        process.terminate()
        await process.communicate()


async def test_roles_talk_over_tls_with_an_authority_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(asked: Message) -> Message:
        return Message({"re": asked.text("op")})

    async with encrypted(tmp_path) as (port, cert):
        monkeypatch.setenv(TRUSTED, str(cert))
        link = await Link.open(f"tls://s3cret@localhost:{port}", name="gateway", root=ROOT)
        try:
            await link.serve(f"{ROOT}.here", answer)
            reply = await link.request(f"{ROOT}.here", Message({"op": "ping"}), 5)
            assert reply.head == {"re": "ping"}
        finally:
            await link.close()


async def test_nats_that_is_not_trusted_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_OPEN_S", 2.0)
    async with encrypted(tmp_path) as (port, _):
        monkeypatch.delenv(TRUSTED, raising=False)
        with pytest.raises(UserError, match="its certificate is not trusted") as refused:
            await Link.open(f"tls://s3cret@localhost:{port}", name="gateway", root=ROOT)
    assert "s3cret" not in str(refused.value)
