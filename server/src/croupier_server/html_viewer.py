"""The replay as one HTML file that needs no server: a record, and the pages' own scripts in it."""

from __future__ import annotations

from typing import Final

from croupier_common.render import printable
from croupier_server.one_file import WEB, OneFile, embedded

__all__ = ["MODULES", "STYLES", "WEB", "viewer_html"]

MODULES: Final = ("tree", "rules", "record", "board", "chart", "words", "replay", "drop")
"""The scripts, each after those that it imports."""

STYLES: Final = ("board", "viewer")

PAGE: Final = OneFile("viewer.html", MODULES, STYLES)


def viewer_html(name: str, text: str) -> str:
    """A page that shows a record, and opens others that are dropped on it.

    Args:
        name: what the record is called.
        text: all of its lines.
    """
    record = embedded({"name": printable(name), "text": text})
    return PAGE.render(name=printable(name), record=record)
