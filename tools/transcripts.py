"""Write docs/transcripts/*.jsonl: what passes between a player and a server, from real runs.

`--check` plays all of it again, writes nothing, and says which files would differ.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Final

import structlog

from transcript_scenes import SCENES, Ada, Scene
from transcript_table import Line, connected

__all__ = ["FOLDER", "SCENES", "main", "played", "text_of"]

FOLDER: Final = Path(__file__).parent.parent / "docs" / "transcripts"


async def played(scene: Scene) -> list[Line]:
    """A scene's lines."""
    head = scene.head()
    async with connected(head) as connection:
        connection.note(head)
        await scene.act(Ada(connection, scene.join))
    return connection.lines


def text_of(lines: list[Line]) -> str:
    """Lines as a file's text."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


async def _files() -> dict[Path, str]:
    return {
        FOLDER / f"{name}.jsonl": text_of(await played(scene)) for name, scene in SCENES.items()
    }


def main(arguments: list[str]) -> int:
    """Write the files, or compare them: 1 if one is not what it should be."""
    files = asyncio.run(_files())
    surplus = set(FOLDER.glob("*.jsonl")) - set(files)
    if arguments != ["--check"]:
        FOLDER.mkdir(exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8", newline="\n")
        for path in surplus:
            path.unlink()
        return 0
    wrong = surplus | {
        path
        for path, text in files.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path in sorted(wrong):
        sys.stderr.write(f"{path.name} is stale; run: python tools/transcripts.py\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    sys.exit(main(sys.argv[1:]))
