"""Wrong: each request has a budget_ms, and this is more than any of them."""

import json
import sys
import time

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = True
        if message["method"] == "hello":
            result = {"legal_actions": True}
        elif message["method"] in {"place", "move"}:
            result = message["params"]["legal_actions"][0]
        if message["method"] == "move":
            time.sleep(30)
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
