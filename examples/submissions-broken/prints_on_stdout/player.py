"""Wrong: standard output is for replies only; this should have been print(..., file=sys.stderr)."""

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
            print("I think I'll take", result)
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
