"""The schema that the migrations make is the one that the tables say."""

from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from croupier_server.storage.database import Database
from croupier_server.storage.revision import HEAD, VERSION_TABLE, migration_config
from croupier_server.storage.schema import metadata
from support.databases import where

__all__ = ["where"]


def differences(connection: Connection) -> list[object]:
    options = {"version_table": VERSION_TABLE, "target_metadata": metadata, "compare_type": True}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def test_head_is_the_last_migration() -> None:
    assert ScriptDirectory.from_config(migration_config()).get_heads() == [HEAD]


async def test_migrations_make_what_the_tables_say(where: Path | str) -> None:
    async with await Database.open(where) as database:
        assert await database.run(differences) == []


async def test_memory_has_the_same_tables() -> None:
    async with await Database.open(None) as database:
        assert await database.run(differences) == []


async def test_missing_column_would_be_found(tmp_path: Path) -> None:
    async with await Database.open(tmp_path) as database:
        await database.run(lambda c: c.execute(text("ALTER TABLE games DROP COLUMN plies")))
        assert "plies" in str(await database.run(differences))


async def test_migration_that_is_cut_off_leaves_nothing(where: Path | str) -> None:
    """All of it is one transaction: whatever kills it, the next start begins anew."""

    def leave(connection: Connection) -> None:
        metadata.drop_all(connection)
        connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))

    async with await Database.open(where) as database:
        await database.run(leave)
        assert await database.run(lambda c: inspect(c).get_table_names()) == []
    async with await Database.open(where) as database:
        assert await database.run(differences) == []
