"""Write docs/schema/*.json and docs/asyncapi.json from the models; `--check` only compares."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from asyncapi_doc import asyncapi
from message_schemas import schemas

DOCS: Final = Path(__file__).parent.parent / "docs"
COMMAND: Final = "python tools/schemas.py"


def main(arguments: list[str]) -> int:
    """Write the files, or compare them: 1 if one is not what it should be."""
    wanted = files()
    if arguments != ["--check"]:
        for path, text in wanted.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        for path in surplus(wanted):
            path.unlink()
        return 0
    wrong = stale(wanted)
    for path in wrong:
        sys.stderr.write(f"docs/{path.relative_to(DOCS)} is stale; run: {COMMAND}\n")
    return 1 if wrong else 0


def files() -> dict[Path, str]:
    """Every file that is made, with its text."""
    made = {DOCS / "schema" / f"{name}.json": schema for name, schema in schemas().items()}
    made[DOCS / "asyncapi.json"] = asyncapi()
    return {path: json.dumps(value, indent=2) + "\n" for path, value in made.items()}


def stale(wanted: Mapping[Path, str]) -> list[Path]:
    """The files that are missing, differ, or that nobody makes any more."""
    return [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ] + surplus(wanted)


def surplus(wanted: Mapping[Path, str]) -> list[Path]:
    """The schemas in the folder that nobody makes."""
    return sorted(set((DOCS / "schema").glob("*.json")) - set(wanted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
