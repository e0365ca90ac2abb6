"""Games watched in a real browser while they are played: alone, and side by side on the wall."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import Connection, update

from croupier_common.board_spec import BoardSpec
from croupier_server.storage import catalogue, schema
from croupier_server.storage.once import own_once
from support.browser import chromium, new_page, pages_of
from support.recorded import recorded
from support.storage import pairings

T = TypeVar("T")

BOARD = BoardSpec.from_text("5x5,holes=2")
HOSTILE = ("<script>document.title='owned'</script>", "Bl\u202eaise " + 40 * "C")


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def _done(where: Path, work: Callable[[Connection], T]) -> T:
    with ThreadPoolExecutor(1) as thread:  # beside the browser, whose loop is in this one
        return thread.submit(own_once, where, work).result()


@dataclass
class Cup:
    """A tournament that is played by hand in a data directory."""

    where: Path
    records: Sequence[Sequence[str]]
    games: Sequence[catalogue.GameRow]
    written: list[int]

    @classmethod
    def begin(cls, where: Path, games: int = 1, names: Sequence[str] = HOSTILE) -> Cup:
        """Begin games, with nothing but their headers."""
        records = [recorded(seed, BOARD, 2, names=names) for seed in range(games)]

        def work(connection: Connection) -> Sequence[catalogue.GameRow]:
            cup = catalogue.create_tournament(connection, "cup", "round-robin", 7, {}).id
            for name in names:
                catalogue.add_entrant(connection, cup, name, "remote")
            catalogue.set_status(connection, cup, "running")
            rows = catalogue.issue(connection, cup, pairings(games, names))
            return [
                catalogue.begin_game(connection, row.id, 1, row.game, 1, record[0])
                for row, record in zip(rows, records, strict=True)
            ]

        return cls(where, records, _done(where, work), [1] * games)

    def go_on(self, game: int = 0, lines: int = 10**6, status: str = "running") -> int:
        """Write more of a game, and how it ended; gives the number of plies so far."""
        first = self.written[game]
        fresh = list(enumerate(self.records[game]))[first : first + lines]
        self.written[game] += len(fresh)
        row = self.games[game].id

        def work(connection: Connection) -> None:
            catalogue.append_lines(connection, row, fresh)
            table = schema.games
            connection.execute(update(table).where(table.c.id == row).values(status=status))

        _done(self.where, work)
        return self.plies(game)

    def plies(self, game: int = 0) -> int:
        """How many plies are written."""
        lines = self.records[game][: self.written[game]]
        kinds = [json.loads(line)["event"]["kind"] for line in lines]
        return sum(kind in {"place", "move"} for kind in kinds)

    def begin_again(self, game: int = 0) -> None:
        """Play a game's pairing again."""
        row, header = self.games[game], self.records[game][0]
        _done(
            self.where,
            lambda c: catalogue.begin_game(c, row.pairing_id, 2, f"{row.name}-2", 1, header),
        )


def is_at(page: Page, ply: int, last: int) -> None:
    expect(page.locator(".where")).to_have_text(f"{ply} / {last}")


def test_live_game_is_watched_to_its_end(chrome: Browser, tmp_path: Path) -> None:
    cup = Cup.begin(tmp_path)
    with pages_of(tmp_path) as url, new_page(chrome) as page:
        page.goto(f"{url}/t/cup/g/1.1")
        expect(page.locator("#live")).to_contain_text("Live.")
        is_at(page, 0, 0)
        plies = cup.go_on(lines=6)
        is_at(page, plies, plies)
        page.keyboard.press("ArrowLeft")  # a viewer that steps back is left there
        is_at(page, plies - 1, plies)
        more = cup.go_on(lines=3)
        is_at(page, plies - 1, more)
        page.get_by_role("button", name="Go to the newest move").click()
        is_at(page, more, more)
        last = cup.go_on(status="finished")
        is_at(page, last, last)
        expect(page.locator("#live")).to_contain_text("The game is over.")
        expect(page.locator(".title .badge")).to_have_text("over")
        expect(page.locator(".outcome")).to_contain_text("The game is over")
        assert "owned" not in page.title()


def test_who_joins_late_and_loses_the_connection_sees_no_gap(
    chrome: Browser, tmp_path: Path
) -> None:
    cup = Cup.begin(tmp_path)
    early = cup.go_on(lines=5)
    with pages_of(tmp_path) as url, new_page(chrome) as page:
        page.goto(f"{url}/t/cup/g/1.1")
        is_at(page, early, early)
    port = int(url.rpartition(":")[2])
    missed = cup.go_on(lines=4)
    with chrome.new_context() as context:  # the browser complains of the lost connection
        page = context.new_page()
        with pages_of(tmp_path, port) as url:
            page.goto(f"{url}/t/cup/g/1.1")
            is_at(page, missed, missed)
        expect(page.locator("#live")).to_contain_text("The connection is lost.")
        cup.go_on(lines=4)
        with pages_of(tmp_path, port):
            expect(page.locator("#live")).to_contain_text("Live.")
            now = cup.go_on(lines=2)
            is_at(page, now, now)
            seen = page.locator(".plies li").count()
            assert seen == now + 1


def test_game_that_is_played_again_has_a_link(chrome: Browser, tmp_path: Path) -> None:
    cup = Cup.begin(tmp_path)
    cup.go_on(lines=5)
    with pages_of(tmp_path) as url, new_page(chrome) as page:
        page.goto(f"{url}/t/cup/g/1.1")
        expect(page.locator("#live")).to_contain_text("Live.")
        cup.go_on(lines=0, status="interrupted")
        expect(page.locator("#live")).to_contain_text("was interrupted")
        cup.begin_again()
        page.get_by_role("link", name="game 1.1-2").click()
        expect(page.locator("h1")).to_have_text("Game 1.1-2")


def test_wall_shows_games_at_a_pace(chrome: Browser, tmp_path: Path) -> None:
    cup = Cup.begin(tmp_path, 3)
    with pages_of(tmp_path) as url, new_page(chrome, 1920, 1080) as page:
        page.goto(f"{url}/t/cup/live?pace=300")
        games = page.locator("#wall article")
        expect(games).to_have_count(3)
        expect(page.locator("#pace")).to_have_value("300")
        plies = cup.go_on(lines=8, status="finished")
        first = games.nth(0)
        expect(first.locator(".said")).to_contain_text("behind")  # and not all at once
        last = f"Board after ply {plies}"
        assert last not in (first.locator("svg.board").get_attribute("aria-label") or "")
        expect(first.locator("svg.board")).to_have_attribute("aria-label", re_starts(last))
        expect(games).to_have_count(2, timeout=15_000)  # it was over, and others run
        page.locator("#pace").select_option("0")
        now = cup.go_on(1, lines=9)
        board = games.nth(0).locator("svg.board")
        expect(board).to_have_attribute("aria-label", re_starts(f"Board after ply {now}"))
        assert "pace=0" in page.url


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1366, 768), (1920, 1080)])
def test_wall_of_sixteen_games_fits(
    chrome: Browser, tmp_path: Path, width: int, height: int
) -> None:
    cup = Cup.begin(tmp_path, 18)
    for game in range(18):
        cup.go_on(game, lines=10)
    with pages_of(tmp_path) as url, new_page(chrome, width, height) as page:
        page.goto(f"{url}/t/cup/live?pace=0")
        expect(page.locator("#wall article")).to_have_count(16)
        page.screenshot(path=tmp_path / "wall.png", full_page=True)
        whole = "document.documentElement"
        assert page.evaluate(f"{whole}.scrollWidth <= {whole}.clientWidth")
        if width > 1024:
            assert page.evaluate(f"{whole}.scrollHeight <= {whole}.clientHeight")


def test_wall_without_scripts_has_the_games(chrome: Browser, tmp_path: Path) -> None:
    Cup.begin(tmp_path, 2)
    with pages_of(tmp_path) as url, new_page(chrome, scripts=False) as page:
        page.goto(f"{url}/t/cup/live")
        page.get_by_role("link", name="Game 1.2").click()
        expect(page.locator("h1")).to_have_text("Game 1.2")


def re_starts(text: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(text)}\b")
