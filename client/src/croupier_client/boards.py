"""Boards as the command line names them: ``5x5,fish=1-5``, ``classic``, or a JSON file."""

from __future__ import annotations

import json
from pathlib import Path

from croupier_common.board_spec import BoardSpec
from croupier_common.errors import InvalidBoard
from croupier_common.jsontypes import is_array

__all__ = ["read_board"]


def read_board(text: str) -> BoardSpec:
    """The spec that a text says, or a file with rows of fish, or with a spec's fields, as JSON.

    Raises:
        InvalidBoard: there is no such board, or the file can't be read.
    """
    if not text.endswith(".json"):
        return BoardSpec.from_text(text)
    try:
        value: object = json.loads(Path(text).read_bytes())
    except OSError as problem:
        raise InvalidBoard(f"can't read {text}: {problem.strerror or problem}") from None
    except (ValueError, RecursionError) as problem:
        raise InvalidBoard(f"{text} is not JSON: {str(problem)[:100]}") from None
    return BoardSpec.from_json({"tiles": value} if is_array(value) else value)
