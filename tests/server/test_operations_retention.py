"""Retention: old records go, and all that is known from results stays."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection, update

from croupier_common.board_spec import BoardSpec
from croupier_server.operations import retention as module
from croupier_server.operations.retention import DAY_MS, Retention
from croupier_server.settings import load_settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.rows import now_ms
from croupier_server.storage.schema import tournaments
from croupier_server.tournament.model import Pairing, Result
from croupier_server.web.reader import Reader
from croupier_server.web.site import build_site
from support.databases import where as where  # noqa: PLC0414 - a fixture
from support.recorded import recorded
from support.wire import quick_settings

KEEP_DAYS = 30


def put(
    connection: Connection,
    name: str,
    games: int,
    *,
    days_ago: float | None,
    status: catalogue.TournamentStatus = "finished",
) -> None:
    """A tournament of some games, over for so many days."""
    row = catalogue.create_tournament(connection, name, "round-robin", 7, {})
    for player in ("Ada", "Blaise"):
        catalogue.add_entrant(connection, row.id, player, "remote")
    issued = [
        Pairing(f"1.{number}", ("Ada", "Blaise"), 1, f"1.{number}")
        for number in range(1, games + 1)
    ]
    lines = recorded(1, BoardSpec.from_text("4x4"))
    for pairing in catalogue.issue(connection, row.id, issued):
        game = catalogue.begin_game(connection, pairing.id, 1, pairing.game, 7, lines[0])
        catalogue.finish_game(
            connection,
            game.id,
            list(enumerate(lines[1:], 1)),
            chain="c",
            plies=len(lines) - 2,
            result=Result(
                pairing.game, pairing.block, 1, pairing.players, ranking=(("Ada",), ("Blaise",))
            ),
        )
    catalogue.set_status(connection, row.id, "running")
    catalogue.set_status(connection, row.id, status)
    if days_ago is not None:
        ended = {"ended_ms": now_ms() - int(days_ago * DAY_MS)}
        connection.execute(update(tournaments).where(tournaments.c.id == row.id).values(ended))


def with_records(connection: Connection) -> dict[str, int]:
    """By tournament, how many games have a record."""
    return {
        row.name: sum(
            bool(catalogue.lines(connection, game.id))
            for game in catalogue.games(connection, row.id)
        )
        for row in catalogue.tournaments(connection)
    }


def exported(data: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "croupier_server", "export", "--data", data, "--out", out],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


async def test_records_go_of_old_finished_tournaments_and_of_no_others(where: Path | str) -> None:
    async with await Database.open(where) as database:

        def fill(connection: Connection) -> None:
            put(connection, "old", 20, days_ago=31)
            put(connection, "young", 3, days_ago=29)
            put(connection, "running", 3, days_ago=None, status="paused")
            put(connection, "stopped", 3, days_ago=400, status="stopped")

        await database.run(fill)
        retention = Retention(database, KEEP_DAYS)
        assert await retention.sweep() == 20
        kept = await database.run(with_records)
        assert kept == {"old": 0, "young": 3, "running": 3, "stopped": 3}
        results = await database.run(lambda c: catalogue.results(c, 1))
        assert len(results) == 20
        assert await retention.sweep() == 0


async def test_games_written_meanwhile_wait_for_a_few_records_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transactions: list[int] = []
    really = module.let_go

    def counted(connection: Connection, some: list[int]) -> None:
        transactions.append(len(some))
        really(connection, some)

    monkeypatch.setattr(module, "let_go", counted)
    monkeypatch.setattr(module, "LOOKED_AT", 10)
    monkeypatch.setattr(module, "PAUSE_S", 0.0)
    async with await Database.open(tmp_path) as database:
        await database.run(lambda c: put(c, "old", 25, days_ago=31))
        assert await Retention(database, KEEP_DAYS).sweep() == 25
        assert await database.run(with_records) == {"old": 0}
    assert transactions == [8, 2, 8, 2, 5]


async def test_pages_and_exports_do_without_such_a_record_and_say_so(tmp_path: Path) -> None:
    async with await Database.open(tmp_path) as database:
        await database.run(lambda c: put(c, "old", 2, days_ago=31))
        await Retention(database, KEEP_DAYS).sweep()
    given = load_settings(None, {"storage": {"data": tmp_path, "keep_days": KEEP_DAYS}})
    reader = await Reader.open(tmp_path)
    transport = httpx.ASGITransport(build_site(reader, given))
    async with httpx.AsyncClient(transport=transport, base_url="http://here:8080") as client:
        for path in ("/t/old/g/1.1", "/t/old/g/1.1.json", "/t/old/g/1.1/record.jsonl"):
            answer = await client.get(path)
            assert answer.status_code == 404
            assert "The record of game 1.1 was kept for 30 days" in answer.text
        for path in ("/t/old", "/t/old/games", "/t/old/p/Ada", "/t/old/downloads", "/"):
            assert (await client.get(path)).status_code == 200
        archive = await client.get("/t/old/downloads/all.zip")
        names = zipfile.ZipFile(io.BytesIO(archive.content)).namelist()
        assert "results.csv" in names
        assert not [name for name in names if name.startswith("records/")]
    await reader.close()
    out = tmp_path / "old.zip"
    done = await asyncio.to_thread(exported, tmp_path, out)
    assert done.returncode == 0, done.stderr
    assert "0 records" in done.stdout


async def test_server_lets_go_of_them_when_it_starts(tmp_path: Path) -> None:
    from croupier_server.app import App

    async with await Database.open(tmp_path) as database:
        await database.run(lambda c: put(c, "old", 2, days_ago=2))
    given = quick_settings(storage={"data": tmp_path, "keep_days": 1})
    server = asyncio.create_task(App(given).run())
    async with await Database.look(tmp_path) as database:
        async with asyncio.timeout(20):
            while (await database.read(with_records)).get("old"):
                assert not server.done()
    server.cancel()
    await asyncio.wait({server})
