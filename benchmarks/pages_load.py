"""The load of the pages benchmark: one who looks at the standings again and again."""

from __future__ import annotations

import re
import time
from http.client import HTTPConnection
from typing import Any

from benchmarks.big_cup import NAME
from benchmarks.processes import own_job, tell, told
from benchmarks.report import quantile

STANDINGS = f"/t/{NAME}"

GAME = "/t/game/g/1.1"

PARTS = re.compile(r"""(?:<link[^>]* href|<script[^>]* src|data-record)="(/[^"]+)""")

IMPORTS = re.compile(r"""(?:from|import)\s*\(?\s*"\./([^"]+)";""")

TILE = re.compile(r'class="(?:ice|hole)"')


class Browser:
    """Gets one thing after the other, by one connection."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, path: str) -> tuple[bytes, str, float]:
        """What is there, its tag, and the seconds from asking to its last byte."""
        asked = time.perf_counter()
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - asked
        if answer.status != 200:
            raise RuntimeError(f"{path} is answered by {answer.status}")
        return body, answer.headers.get("ETag", ""), took

    def standings(self, count: int, pause_s: float) -> list[float]:
        """How long the page takes so many times, each time after a pause; only if it is another.

        Raises:
            RuntimeError: it mostly is not.
        """
        took: list[float] = []
        last = ""
        for _ in range(2 * count):
            time.sleep(pause_s)
            _, tag, seconds = self.get(STANDINGS)
            if tag != last:
                took.append(seconds)
            last = tag
            if len(took) == count:
                return took
        raise RuntimeError(f"of {2 * count} pages only {len(took)} were made anew")

    def weight(self, path: str) -> dict[str, int]:
        """All that a browser gets for a page, in bytes; without what it has only by a click."""
        page = self.get(path)[0]
        found = {path: len(page)}
        wanted: list[str] = PARTS.findall(page.decode())
        while wanted:
            if (part := wanted.pop()) not in found:
                body = self.get(part)[0]
                found[part] = len(body)
                if part.endswith(".js"):
                    folder = part.rpartition("/")[0]
                    wanted += [f"{folder}/{name}" for name in IMPORTS.findall(body.decode())]
        return found


def main(job: dict[str, Any]) -> None:
    """Look, and report."""
    port = told()["port"]
    browser = Browser(port)
    cold = browser.get(STANDINGS)[2]
    weight = browser.weight(GAME)
    tiles = len(TILE.findall(browser.get(GAME)[0].decode()))
    tell({"cold_ms": cold * 1e3, "game_bytes": sum(weight.values()), "tiles": tiles})
    told()
    browser = Browser(port)  # anew: the server has closed what said nothing for so long
    took = browser.standings(job["pages"], job["pause_s"])
    tell(
        {
            "p50_ms": quantile(took, 0.5) * 1e3,
            "p99_ms": quantile(took, 0.99) * 1e3,
            "bytes": len(browser.get(STANDINGS)[0]),
        }
    )


if __name__ == "__main__":
    main(own_job())
