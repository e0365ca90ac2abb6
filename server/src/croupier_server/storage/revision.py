"""Which schema a database has, and how it gets the one that this program needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, inspect

from croupier_server.errors import NotMade, UserError
from croupier_server.storage.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = ["HEAD", "VERSION_TABLE", "check", "create", "migrate"]

HEAD: Final = "0001"
"""The revision that this program needs: the last one in ``migrations/versions``."""

VERSION_TABLE: Final = "croupier_version"
"""The table with a database's revision; so called that nobody else's is taken for it."""

MIGRATIONS: Final = Path(__file__).parent / "migrations"


def create(connection: Connection) -> None:
    """Make all tables at once, for a database that no later program will open."""
    metadata.create_all(connection)


def check(connection: Connection, place: str) -> None:
    """Make sure that a database can be used as it is.

    Raises:
        UserError: it is not a croupier's, or another version's; with what to do.
    """
    found = _revision(connection, place)
    if found is None:
        raise NotMade(f"{place}: there is no tournament yet; `croupier serve` makes the database")
    if found != HEAD:
        _check_known(found, place)
        raise NotMade(
            f"{place}: the database is of an older version (schema {found}, not {HEAD}); "
            "`croupier serve` brings it up to date"
        )


def migrate(connection: Connection, place: str) -> None:
    """Bring a database to the schema that this program needs, from nothing if need be.

    Raises:
        UserError: it is not a croupier's, or a newer version's.
    """
    found = _revision(connection, place)
    if found == HEAD:  # written once more, since one that can't be written must not be opened
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = version_num")  # noqa: S608
        return
    if found is not None:
        _check_known(found, place)
    from alembic import command  # it takes long to import, and few starts need it

    config = migration_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def migration_config() -> Config:
    """What Alembic has to know."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _revision(connection: Connection, place: str) -> str | None:
    """The revision of a database; None if there is nothing in it."""
    tables = inspect(connection).get_table_names()
    if VERSION_TABLE in tables:
        found = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 - a constant
        return found.scalar()
    if tables:
        raise UserError(
            f"{place}: not a croupier database: it has the table {tables[0]!r:.60}; "
            "give croupier one of its own"
        )
    return None


def _check_known(revision: str, place: str) -> None:
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(migration_config())
    if revision not in {known.revision for known in script.walk_revisions()}:
        raise UserError(
            f"{place}: the database was made by a newer croupier (schema {revision!r:.40}, and "
            f"this program knows {HEAD}): update croupier"
        )
