"""The golden transcripts, and a server that says its part of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import transcripts
from support.scripted import Peer

Line = dict[str, Any]

HONEST = [name for name, scene in transcripts.SCENES.items() if scene.honest]


def read(name: str) -> list[Line]:
    """A transcript's lines."""
    text = (transcripts.FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def be_server(
    peer: Peer, lines: Iterator[Line], compare: Callable[[str | bytes, Line], None]
) -> None:
    """Say the server's part on one connection; what the player says is given to `compare`."""
    for line in lines:
        if line["from"] == "server":
            await peer.send(line["message"])
        elif "message" in line:
            compare(await peer.connection.recv(), line["message"])
        elif line["from"] == "close":
            if line["by"] == "server":
                await peer.connection.close(line["code"], line["reason"])
            else:
                peer.connection.transport.abort()
            return
