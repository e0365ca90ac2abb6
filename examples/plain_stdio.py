#!/usr/bin/env python3
"""A whole player in one file, with nothing but the standard library: no kit, no network.

    penguin bridge ws://127.0.0.1:8000 --name Pingu -- python3 examples/plain_stdio.py

It reads a request from each line of standard input, and writes its reply to standard output as one
line. It has the legal actions listed, and takes the one that ends on the most fish. What it has to
say for itself goes to standard error. docs/stdio.md explains the rest.
"""

import json
import sys
from typing import Any


def choose(params: Any) -> Any:
    """The legal action that ends on the tile with the most fish; the first of equals."""
    board = params["state"]["board"]

    def fish(action: Any) -> int:
        # A placement is a position; of a move, which is two of them, the end counts.
        row, column = action if isinstance(action[0], int) else action[1]
        return int(board[row][column])

    return max(params["legal_actions"], key=fish)


def answer(method: str, params: Any) -> Any:
    """The result for a request."""
    if method == "hello":
        return {"legal_actions": True}
    if method in {"place", "move"}:
        return choose(params)
    return True  # a start or an end: all is well


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message["params"])
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        print(json.dumps(reply), flush=True)  # without flush, it would wait for more to be written
    elif message["method"] == "ejected":
        print("out:", message["params"]["detail"], file=sys.stderr)
