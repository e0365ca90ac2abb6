"""Databases for tests: SQLite in a folder, and PostgreSQL where there is a server."""

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.needs import require

VARIABLE = "CROUPIER_POSTGRESQL"
"""The URL of a server in which databases may be created."""

KINDS = ("sqlite", "postgresql")


async def execute(url: str, statement: str) -> None:
    """Run a statement outside of any transaction."""
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def fetch_value(url: str, query: str) -> object:
    """Give the first value of a query, asked on a connection of its own."""
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def url_of(server: str, name: str) -> str:
    """Give the URL of another database of the same server."""
    from sqlalchemy.engine import make_url

    return make_url(server).set(database=name).render_as_string(hide_password=False)


def require_postgresql() -> str:
    """Give the URL of the server, or skip."""
    server = os.environ.get(VARIABLE, "")
    require("postgresql", server, f"{VARIABLE} is not set")
    return server


@asynccontextmanager
async def made_database() -> AsyncGenerator[str]:
    """Give the URL of an empty PostgreSQL database, as long as this is entered."""
    server = require_postgresql()
    name = f"croupier_{uuid.uuid4().hex}"
    await execute(server, f"CREATE DATABASE {name}")
    try:
        yield url_of(server, name)
    finally:
        await asyncio.shield(execute(server, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
async def postgresql() -> AsyncIterator[str]:
    """Give the URL of an empty database of the test's own."""
    async with made_database() as url:
        yield url


@pytest.fixture(params=KINDS)
async def where(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Path | str]:
    """Give the place of a database of the test's own, of each kind in turn."""
    if request.param == "sqlite":
        yield tmp_path / "data"
        return
    async with made_database() as url:
        yield url
