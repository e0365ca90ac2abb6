"""Wrong: it takes the board for one of squares. Placing goes well, and its first moves don't."""

import json
import sys


def move(params):
    """One column to the right with the first penguin, whatever is there."""
    (me,) = [player for player in params["state"]["players"] if player["color"] == params["you"]]
    row, column = me["penguins"][0]
    return [[row, column], [row, column + 1]]


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = True
        if message["method"] == "hello":
            result = {"legal_actions": True}
        elif message["method"] == "place":
            result = message["params"]["legal_actions"][0]
        elif message["method"] == "move":
            result = move(message["params"])
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
