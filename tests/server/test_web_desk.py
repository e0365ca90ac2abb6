"""Pages that another process makes, while the loop of this one goes on."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

from croupier_server.tournament.model import Result
from croupier_server.web.desk import Desk, Frame, Job
from croupier_server.web.pages.tournament import load
from croupier_server.web.paging import Paging
from croupier_server.web.reader import Reader
from croupier_server.web.urls import Urls
from support.desk_work import worker
from support.web import keep

HELD_S = 0.005
"""For how long a page may hold the loop."""

FRAME = Frame(Urls(), frozenset())


async def test_standings_are_made_by_another_process_and_cost_the_loop_next_to_nothing(
    tmp_path: Path,
) -> None:
    names = [f"player {number}" for number in range(200)]
    results = [
        Result(f"1.{at}.1", f"1.{at}", 1, pair, ranking=((pair[0],), (pair[1],)))
        for at, pair in enumerate(zip(names[::2], names[1::2], strict=True), 1)
    ]
    keep(tmp_path, results, form="swiss", status="running")
    found = partial(load, tournament="cup", paging=Paging(1, 200), number=None)
    reader = await Reader.open(tmp_path, Desk(tmp_path))
    try:
        who = await reader.show_apart("who", Job(worker, None, FRAME))
        used = time.thread_time()
        page = await reader.show_apart("page", Job(found, "tournament.html", FRAME))
        used = time.thread_time() - used
    finally:
        await reader.close()
    assert int(who.body) != os.getpid()
    text = page.body.decode()
    assert all(f">{name}<" in text for name in names)
    assert used < HELD_S
