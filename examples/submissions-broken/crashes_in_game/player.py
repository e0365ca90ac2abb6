"""Wrong: sooner or later there is no second legal action."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = True
        if message["method"] == "hello":
            result = {"legal_actions": True}
        elif message["method"] in {"place", "move"}:
            result = message["params"]["legal_actions"][1]
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
