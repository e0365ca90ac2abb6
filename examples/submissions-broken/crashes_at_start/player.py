"""Wrong: the file that this reads is on its author's own machine only."""

import json
import sys
from pathlib import Path

BOOK = json.loads(Path("opening_book.json").read_text(encoding="utf-8"))

for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": BOOK}), flush=True)
