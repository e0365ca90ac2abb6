"""The proxy of the compose file, run as it is: TLS, players and pages, replicas that change."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from croupier_server.tournament.progress import TournamentResult
from support.caddy import Front, Replica, fronted
from support.compose import launch
from support.needs import require
from support.wire import quick_settings, serving

FIRST, SECOND, WEB = "127.0.0.2", "127.0.0.3", "127.0.0.4"
FORGED = {"X-Forwarded-For": "203.0.113.7"}
PATIENCE_S = 10.0


@pytest.fixture(autouse=True)
def _caddy() -> None:
    require("linux", sys.platform == "linux", "more addresses of the machine itself than one")
    require("caddy", shutil.which("caddy"), "caddy is not on the PATH")


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of one's own, and its key."""
    require("openssl", shutil.which("openssl"), "openssl is not on the PATH")
    files = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    out = ["-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run([*command, *subject, *out], check=True, capture_output=True)
    return files


class RealCroupier(Replica):
    """A croupier of one process, instead of a gateway.

    Attributes:
        result: of its tournament.
    """

    result: asyncio.Task[TournamentResult]

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncGenerator[None]:
        settings = quick_settings(
            server={"host": self.address, "port": port},
            limits={"max_unjoined": 0},
            lobby={"min_players": 2, "max_players": 2, "wait_ms": 30_000},
            clocks={"join_ms": 10_000, "start_ms": 10_000, "place_ms": 10_000, "move_ms": 10_000},
            game={"board": "3x3"},
        )
        async with serving(settings) as (_, self.result):
            yield


async def demo_player(name: str, front: Front) -> int:
    """Run a demo player of the compose file as who trusts the proxy does; its exit code."""
    found = launch(name, {"gateway": f"wss://localhost:{front.https}"})
    process = await asyncio.create_subprocess_exec(
        *found.argv,
        env={**os.environ, **found.environment, "SSL_CERT_FILE": str(front.root)},
        stdout=asyncio.subprocess.DEVNULL,
    )
    return await process.wait()


async def reached(front: Front, wanted: str) -> None:
    """Connect players until one is at a replica."""
    async with asyncio.timeout(PATIENCE_S):
        while (await front.joined())["replica"] != wanted:
            pass


async def replica_or_status(front: Front) -> str:
    """Connect as a player; the replica that it is at, or with what it was turned away."""
    try:
        return str((await front.joined())["replica"])
    except InvalidStatus as problem:
        return str(problem.response.status_code)


async def test_players_go_to_all_gateways_and_browsers_to_the_pages(tmp_path: Path) -> None:
    gateways = [Replica(FIRST), Replica(SECOND)]
    async with fronted(tmp_path, gateways, Replica(WEB)) as (front, _):
        players = [await front.joined("x" * 60_000) for _ in range(6)]
        assert 2 <= [player["replica"] for player in players].count(FIRST) <= 4
        assert {player["replica"] for player in players} == {FIRST, SECOND}
        assert players[0]["headers"]["x-forwarded-for"] == "127.0.0.1"
        page = await front.page(FORGED)
        assert page["replica"] == WEB
        assert page["headers"]["x-forwarded-for"] == "127.0.0.1"  # not what the visitor says
        assert page["headers"]["x-forwarded-proto"] == "https"
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"http://localhost:{front.http}/t")
        assert answer.is_redirect
        assert answer.headers["location"].startswith("https://localhost")


async def test_gateways_come_and_go(tmp_path: Path) -> None:
    gateways = [Replica(FIRST), Replica(SECOND)]
    async with fronted(tmp_path, gateways, Replica(WEB)) as (front, names):
        names.addresses["gateway"] = [FIRST]
        await reached(front, FIRST)
        names.addresses["gateway"] = [SECOND]
        await reached(front, SECOND)
        # one that is gone but still named: whoever comes goes to the other
        names.addresses["gateway"] = ["127.0.0.9", SECOND]
        assert {(await front.joined())["replica"] for _ in range(3)} == {SECOND}


async def test_player_that_tries_again_finds_the_gateway_that_does_not_drain(
    tmp_path: Path,
) -> None:
    gateways = [Replica(FIRST), Replica(SECOND)]
    async with fronted(tmp_path, gateways, Replica(WEB)) as (front, _):
        gateways[0].is_draining = True
        statuses = [await replica_or_status(front) for _ in range(4)]
        assert set(statuses) <= {SECOND, "503"}
        assert statuses.count(SECOND) >= 2


async def test_certificate_of_ones_own_is_shown(tmp_path: Path) -> None:
    own, key = certificate(tmp_path)
    async with fronted(tmp_path, [Replica(FIRST)], Replica(WEB), f"{own} {key}") as (front, _):
        assert (await front.joined(context=front.trusting(own)))["replica"] == FIRST


async def test_players_of_the_kit_play_a_tournament_through_it(tmp_path: Path) -> None:
    croupier = RealCroupier(FIRST)
    async with fronted(tmp_path, [croupier], Replica(WEB)) as (front, _):
        players = [demo_player(name, front) for name in ("greedy-1", "random")]
        async with asyncio.timeout(4 * PATIENCE_S):
            assert await asyncio.gather(*players) == [0, 0]
            result = await croupier.result
        assert {name for _, name in result.standings} == {"greedy-1", "random"}
        assert result.faults == {}
