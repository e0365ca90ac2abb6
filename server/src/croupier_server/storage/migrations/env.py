"""Run by Alembic for each migration, on the connection that is given, in its transaction."""

from __future__ import annotations

from alembic import context

from croupier_server.storage.revision import VERSION_TABLE
from croupier_server.storage.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
