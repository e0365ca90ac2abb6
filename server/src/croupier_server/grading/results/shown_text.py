"""Texts from outside, as pages of grades show them: one line, or many, and never anything else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from markupsafe import Markup, escape

from croupier_common.render import printable
from croupier_server.grading.scoring_lines import percent
from croupier_server.web.filters import filters as web_filters

__all__ = ["filters", "points", "text_block"]

LINE: Final = 400
HEAD_LINES: Final = 100
TAIL_LINES: Final = 300

_COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def filters() -> Mapping[str, Callable[..., Any]]:
    """The filters of the templates: those of the pages, some of them by other words."""
    return {
        **web_filters(),
        "block": text_block,
        "percent": percent,
        "points": points,
        "ticks": _ticks,
    }


def points(value: float) -> str:
    """Points with two places at most: ``7.5``."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text_block(text: str) -> str:
    """A text of many lines, its middle left out if it is long.

    Control characters and marks that turn the direction of writing are shown as ``?``; the colours
    that are meant for a terminal are left out.
    """
    lines = _COLOURS.sub("", text).splitlines()
    left_out = len(lines) - HEAD_LINES - TAIL_LINES
    if left_out > 0:
        told = f"… {left_out:,} lines are left out here …"
        lines = [*lines[:HEAD_LINES], told, *lines[-TAIL_LINES:]]
    return "\n".join(printable(line[: LINE + 1].expandtabs(), LINE).rstrip() for line in lines)


def _ticks(text: str) -> Markup:
    """A text of ours with what stands between backticks as code."""
    parts = text.split("`")
    pieces = [
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part)
        for at, part in enumerate(parts)
    ]
    return Markup().join(pieces)
