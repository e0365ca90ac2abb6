"""A player that needs nothing but Python: a JSON message to a line, in and out.

It has the host list the legal actions, and chooses the one from which it can go on best. What it
has to say for itself goes to standard error.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

# By direction, a step from an even row and one from an odd row: odd rows are shifted to the right.
DIRECTIONS = [
    ((-2, 0), (-2, 0)),
    ((-1, 0), (-1, 1)),
    ((1, 0), (1, 1)),
    ((2, 0), (2, 0)),
    ((1, -1), (1, 0)),
    ((-1, -1), (-1, 0)),
]

# What the requests are answered with for which nothing has to be chosen.
RESULTS: dict[str, Any] = {
    "hello": {"legal_actions": True},
    "tournament_start": True,
    "game_start": True,
    "tournament_end": True,
}


def fish_at(board: Any, row: int, column: int) -> int:
    """The fish on a tile; 0 for a hole, and outside of the board."""
    inside = 0 <= row < len(board) and 0 <= column < len(board[row])
    return int(board[row][column]) if inside else 0


def reachable(state: Any, row: int, column: int) -> Iterator[int]:
    """The fish on each tile that a penguin could reach from here."""
    taken = {tuple(at) for player in state["players"] for at in player["penguins"]}
    for steps in DIRECTIONS:
        at = (row, column)
        while True:
            down, right = steps[at[0] % 2]
            at = (at[0] + down, at[1] + right)
            fish = fish_at(state["board"], *at)
            if not fish or at in taken:
                break
            yield fish


def worth(state: Any, action: Any) -> float:
    """What a legal action is worth: fish that we get, and fish that we can go on to."""
    if isinstance(action[0], int):  # a placement is a position
        return 8 * fish_at(state["board"], *action) + sum(reachable(state, *action))
    start, end = action  # a move is two of them: we get the first tile now, the other one later
    beyond = sum(reachable(state, *end))
    return fish_at(state["board"], *start) + fish_at(state["board"], *end) + 0.1 * beyond


def answer(method: str, params: Any) -> Any:
    """The result for a request.

    Raises:
        KeyError: there is no such method.
    """
    if method in {"place", "move"}:
        return max(params["legal_actions"], key=lambda action: worth(params["state"], action))
    return RESULTS[method]


def reply(message: Any) -> dict[str, Any]:
    """The reply to a request: the same id, and a result or an error."""
    head = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        return {**head, "result": answer(message["method"], message["params"])}
    except KeyError as problem:
        return {**head, "error": {"code": -32601, "message": f"not known: {problem}"}}


for line in sys.stdin:
    received = json.loads(line)
    if "id" in received:
        print(json.dumps(reply(received)), flush=True)  # without flush, it would wait in a buffer
    elif received["method"] == "ejected":
        print("out:", received["params"]["detail"], file=sys.stderr)
