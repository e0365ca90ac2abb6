"""What a test has the process for pages do; that imports it by name."""

from __future__ import annotations

import os

from sqlalchemy import Connection

from croupier_server.web.views import Views

__all__ = ["worker"]


def worker(_connection: Connection, _views: Views) -> str:
    """Which process this is."""
    return str(os.getpid())
