"""The tables of the first version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL: sa.Double[float] = sa.Double()


def upgrade() -> None:
    """Bring the schema up to this revision."""
    op.create_table(
        "tournaments",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tournaments")),
        sa.UniqueConstraint("name", name=op.f("uq_tournaments_name")),
    )
    op.create_table(
        "entrants",
        sa.Column("id", ID, nullable=False),
        sa.Column("tournament_id", ID, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("age", sa.BigInteger(), nullable=True),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("strikes", sa.BigInteger(), nullable=False),
        sa.Column("joined_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournaments.id"],
            name=op.f("fk_entrants_tournament_id_tournaments"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entrants")),
        sa.UniqueConstraint("tournament_id", "name", name=op.f("uq_entrants_tournament_id_name")),
        sa.UniqueConstraint(
            "tournament_id", "number", name=op.f("uq_entrants_tournament_id_number")
        ),
    )
    op.create_index(op.f("ix_entrants_session"), "entrants", ["session"], unique=False)
    op.create_table(
        "orders",
        sa.Column("id", ID, nullable=False),
        sa.Column("tournament_id", ID, nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("argument", sa.Text(), nullable=True),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("given_ms", sa.BigInteger(), nullable=False),
        sa.Column("done_ms", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tournament_id"], ["tournaments.id"], name=op.f("fk_orders_tournament_id_tournaments")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orders")),
    )
    op.create_index(
        op.f("ix_orders_tournament_id_done_ms"),
        "orders",
        ["tournament_id", "done_ms"],
        unique=False,
    )
    op.create_table(
        "pairings",
        sa.Column("id", ID, nullable=False),
        sa.Column("tournament_id", ID, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("game", sa.Text(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.Text(), nullable=False),
        sa.Column("players", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournaments.id"],
            name=op.f("fk_pairings_tournament_id_tournaments"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairings")),
        sa.UniqueConstraint("tournament_id", "game", name=op.f("uq_pairings_tournament_id_game")),
        sa.UniqueConstraint(
            "tournament_id", "number", name=op.f("uq_pairings_tournament_id_number")
        ),
    )
    op.create_table(
        "ratings",
        sa.Column("tournament_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("rating", REAL, nullable=False),
        sa.Column("low", REAL, nullable=False),
        sa.Column("high", REAL, nullable=False),
        sa.Column("games", sa.BigInteger(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tournament_id"], ["tournaments.id"], name=op.f("fk_ratings_tournament_id_tournaments")
        ),
        sa.PrimaryKeyConstraint("tournament_id", "name", name=op.f("pk_ratings")),
    )
    op.create_table(
        "games",
        sa.Column("id", ID, nullable=False),
        sa.Column("pairing_id", ID, nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("chain", sa.Text(), nullable=True),
        sa.Column("plies", sa.BigInteger(), nullable=True),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pairing_id"], ["pairings.id"], name=op.f("fk_games_pairing_id_pairings")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_games")),
        sa.UniqueConstraint("pairing_id", "attempt", name=op.f("uq_games_pairing_id_attempt")),
    )
    op.create_index(op.f("ix_games_name"), "games", ["name"], unique=False)
    op.create_index(op.f("ix_games_status"), "games", ["status"], unique=False)
    op.create_table(
        "journal",
        sa.Column("position", ID, nullable=False),
        sa.Column("game_id", ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["game_id"], ["games.id"], name=op.f("fk_journal_game_id_games")),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_journal")),
        sa.UniqueConstraint("game_id", "seq", name=op.f("uq_journal_game_id_seq")),
    )
    op.create_table(
        "results",
        sa.Column("pairing_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("game_id", ID, nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=True),
        sa.Column("standing", sa.BigInteger(), nullable=True),
        sa.Column("fish", sa.BigInteger(), nullable=True),
        sa.Column("tiles", sa.BigInteger(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("phase", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("sent", sa.Text(), nullable=True),
        sa.Column("think_ms_total", sa.BigInteger(), nullable=True),
        sa.Column("think_ms_max", sa.BigInteger(), nullable=True),
        sa.Column("turns", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["game_id"], ["games.id"], name=op.f("fk_results_game_id_games")),
        sa.ForeignKeyConstraint(
            ["pairing_id"], ["pairings.id"], name=op.f("fk_results_pairing_id_pairings")
        ),
        sa.PrimaryKeyConstraint("pairing_id", "name", name=op.f("pk_results")),
    )
    op.create_index(op.f("ix_results_game_id"), "results", ["game_id"], unique=False)
    op.create_index(op.f("ix_results_name"), "results", ["name"], unique=False)
