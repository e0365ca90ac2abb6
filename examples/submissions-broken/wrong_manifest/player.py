"""Right, but nothing tells how it is to be started: see player.toml."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = True
        if message["method"] == "hello":
            result = {"legal_actions": True}
        elif message["method"] in {"place", "move"}:
            result = message["params"]["legal_actions"][0]
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
