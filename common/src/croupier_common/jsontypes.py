"""What a JSON value is, for values that come from outside and are checked by hand."""

from __future__ import annotations

import json
from typing import TypeGuard

__all__ = ["as_json", "is_array", "is_object", "is_whole", "shown"]


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a value that came out of a JSON or TOML parser is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether a value that came out of a JSON or TOML parser is an array."""
    return isinstance(value, list)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number; ``true`` and ``1.0`` are not."""
    return type(value) is int


def shown(value: object, width: int = 100) -> str:
    """A value as a message shows it, cut to `width` characters; never raises."""
    try:
        return repr(value)[:width]
    except (ValueError, RecursionError):  # a number of thousands of digits, or too deep a nest
        return f"a {type(value).__name__} too large to show"


def as_json(value: object, width: int = 100) -> str:
    """A value as the JSON that it came from, cut to `width` characters; never raises.

    For players' authors, whose language need not be Python.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))[:width]
        return text.encode("utf-8", "backslashreplace").decode()  # half a character is none
    except (TypeError, ValueError, RecursionError):
        return shown(value, width)
