"""Games stepped through in a real browser: on the pages, and in the file that holds one game."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from croupier_common.board_spec import BoardSpec
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC
from croupier_server.html_viewer import viewer_html
from support.browser import chromium, new_page, pages_of
from support.recorded import CLASSIC_BOARD, keep_games, recorded

HOSTILE = (
    "<script>document.title='owned'</script>",
    "Bl\u202eaise\u2066",
    "C" * 10_000,
    '"><img src=x onerror=alert(1)>',
)
SIXTY = recorded(2, BoardSpec.from_text("10x6"), 4)
NASTY = recorded(3, CLASSIC_BOARD, 4, CLASSIC, names=HOSTILE, ejections=0.03)
STOPPED = recorded(4, BoardSpec.from_text("5x5,holes=2"), 2, plies=9)
RUNNING = recorded(5, BoardSpec.from_text("5x5,holes=2"), 2, plies=9, finish=False)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    where = tmp_path_factory.mktemp("data")
    keep_games(where, SIXTY, NASTY, STOPPED, RUNNING)
    with pages_of(where) as url:
        yield url


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    record = tmp_path_factory.mktemp("records") / "1.2.jsonl"
    page = record.with_suffix(".html")
    page.write_text(viewer_html(record.name, "".join(NASTY)), encoding="utf-8")
    return page.as_uri()


def plies_of(lines: list[str]) -> int:
    kinds = [json.loads(line)["event"]["kind"] for line in lines]
    return sum(kind in {"place", "move", "eject"} for kind in kinds)


def opened(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(".replay.ready")


def is_at(page: Page, ply: int, last: int) -> None:
    expect(page.locator(".where")).to_have_text(f"{ply} / {last}")


def test_replay_by_keyboard(chrome: Browser, site: str) -> None:
    last = plies_of(SIXTY)
    with new_page(chrome) as page:
        opened(page, f"{site}/t/cup/g/1.1")
        is_at(page, last, last)
        for key, ply in [
            ("Home", 0),
            ("ArrowRight", 1),
            ("ArrowRight", 2),
            ("ArrowLeft", 1),
            ("End", last),
            ("ArrowRight", last),
        ]:
            page.keyboard.press(key)
            is_at(page, ply, last)
        page.keyboard.press("Home")
        page.get_by_label("Speed").select_option("10")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Space")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.locator(".where")).not_to_have_text(f"0 / {last}")
        page.keyboard.press("Space")
        expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_replay_by_mouse(chrome: Browser, site: str) -> None:
    last = plies_of(SIXTY)
    with new_page(chrome) as page:
        opened(page, f"{site}/t/cup/g/1.1")
        page.get_by_role("button", name="First position").click()
        is_at(page, 0, last)
        page.get_by_role("button", name="One ply on").click()
        is_at(page, 1, last)
        page.locator(".plies button").nth(7).click()
        is_at(page, 7, last)
        page.get_by_label("Ply", exact=True).fill("12")
        is_at(page, 12, last)
        assert page.url.endswith("#ply=12")
        page.locator(".of-fish svg").click(position={"x": 5, "y": 40})
        is_at(page, 0, last)
        page.locator(".plies button").nth(last - 12).click()
        page.get_by_label("Speed").select_option("10")
        page.get_by_role("button", name="Play").click()
        is_at(page, last, last)


def test_link_to_a_ply(chrome: Browser, site: str) -> None:
    last = plies_of(SIXTY)
    with new_page(chrome) as page:
        opened(page, f"{site}/t/cup/g/1.1#ply=12")
        is_at(page, 12, last)
        page.evaluate("location.hash = '#ply=3'")
        is_at(page, 3, last)
        opened(page, f"{site}/t/cup/g/1.1?ply=5")
        is_at(page, 5, last)


def test_legal_moves_of_the_moment(chrome: Browser, site: str) -> None:
    with new_page(chrome) as page:
        opened(page, f"{site}/t/cup/g/1.1#ply=0")
        assert page.locator(".board .legal").count() == 0
        page.get_by_label("Legal moves").check()
        expect(page.locator(".said")).to_contain_text("60 legal placements")
        assert page.locator(".board .legal").count() == 60
        page.keyboard.press("End")
        assert page.locator(".board .legal").count() == 0
        page.get_by_role("button", name="First position").click()
        for _ in range(10):
            page.keyboard.press("ArrowRight")
        mine = page.locator(".board .tile[role=button]:not(.legal)")
        of_all = page.locator(".board .legal").count()
        mine.first.click()
        assert page.locator(".board .origin").count() == 1
        assert 0 <= page.locator(".board .legal").count() <= of_all


def test_board_of_the_server_is_that_of_the_script(chrome: Browser, site: str) -> None:
    drawn: list[str] = []
    for scripts in (False, True):
        with new_page(chrome, scripts=scripts) as page:
            page.goto(f"{site}/t/cup/g/1.2?ply=20")
            if scripts:
                page.wait_for_selector(".replay.ready")
            drawn.append(page.locator("#board").inner_html())
    assert drawn[0] == drawn[1]


def test_page_without_scripts_has_links_to_all_plies(chrome: Browser, site: str) -> None:
    with new_page(chrome, scripts=False) as page:
        page.goto(f"{site}/t/cup/g/1.1")
        last = plies_of(SIXTY)
        expect(page.locator(".steps strong")).to_have_text(f"Ply {last} of {last}")
        page.get_by_role("link", name="Back").click()
        expect(page.locator(".steps strong")).to_have_text(f"Ply {last - 1} of {last}")
        page.get_by_role("link", name="First").click()
        expect(page.locator(".steps strong")).to_have_text(f"Ply 0 of {last}")
        assert page.locator(".plies a").count() == last + 1


@pytest.mark.parametrize("game", ["1.2", "file"])
def test_hostile_names_are_text(chrome: Browser, site: str, one_file: str, game: str) -> None:
    with new_page(chrome, 360, 740) as page:
        opened(page, one_file if game == "file" else f"{site}/t/cup/g/{game}")
        assert "owned" not in page.title()
        assert page.locator("#replay img, #replay script").count() == 0
        shown = page.locator(".players bdi").all_inner_texts()
        assert shown[0] == HOSTILE[0]
        assert len(shown[2]) <= 60
        assert "\u202e" not in page.locator("body").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_interrupted_game_says_so(chrome: Browser, site: str) -> None:
    with new_page(chrome) as page:
        opened(page, f"{site}/t/cup/g/1.3")
        expect(page.locator(".outcome")).to_contain_text("was interrupted and does not count")


def test_game_page_is_light(chrome: Browser, site: str) -> None:
    """Bytes of all that a browser loads; nothing is compressed."""
    answers: list[Response] = []
    with new_page(chrome) as page:
        page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108
        opened(page, f"{site}/t/cup/g/1.1")
        page.wait_for_load_state("networkidle")
        sizes = {answer.url: len(answer.body()) for answer in [*answers]}
    assert len(sizes) > 5
    assert sum(sizes.values()) < 150_000, sizes


def test_first_board_is_in_the_first_response(site: str) -> None:
    with urlopen(f"{site}/t/cup/g/1.1") as answer:
        text = answer.read().decode()
    assert text.count('class="ice"') + text.count('class="hole"') == 60
    head = text.partition('id="record-head">')[2].partition("</script>")[0]
    assert json.loads(head) == json.loads(SIXTY[0])["event"]


def test_json_twin(site: str) -> None:
    with urlopen(f"{site}/t/cup/g/1.4.json?ply=2") as answer:
        found = json.load(answer)
    assert (found["status"], found["ply"], found["plies"]) == ("running", 2, 9)
    assert found["names"] == {"red": "Ada", "white": "Blaise"}
    assert found["state"]["stage"] == "placement"
    assert found["outcome"] is None


def test_record_is_opened_by_choice_and_by_drop(
    chrome: Browser, site: str, one_file: str, tmp_path: Path
) -> None:
    record = tmp_path / "other.jsonl"
    record.write_text("".join(SIXTY), encoding="utf-8")
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(SIXTY[:-1]), encoding="utf-8")
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("<script>alert(1)</script>\n", encoding="utf-8")
    last = plies_of(SIXTY)
    for address in (f"{site}/replay", one_file):
        with new_page(chrome) as page:
            page.goto(address)
            page.locator("#record-file").set_input_files(record)
            is_at(page, last, last)
            page.locator("#record-file").set_input_files(wrong)
            expect(page.locator("#message")).to_contain_text("line 1 is not a line of JSON")
            drop(page, cut)
            expect(page.locator(".problem[role=alert]", has_text="it has no end")).to_be_visible()
            expect(page.locator("#record-name")).to_have_text("cut.jsonl")
            page.keyboard.press("Home")
            is_at(page, 0, last)


def drop(page: Page, file: Path) -> None:
    given = {"name": file.name, "text": file.read_text(encoding="utf-8")}
    page.evaluate(
        """({ name, text }) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([text], name));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
        }""",
        given,
    )


def test_watcher_steps_back_while_the_game_goes_on(chrome: Browser, site: str) -> None:
    """What the live page does with the module: lines come while somebody looks at an old ply."""
    with new_page(chrome) as page:
        page.goto(f"{site}/replay")
        header, *lines = [json.loads(line) for line in SIXTY]
        page.evaluate(
            """async ({ header, lines }) => {
              const { Replay } = await import("/static/replay.js");
              window.replay = new Replay(document.getElementById("replay"), header);
              window.replay.add(lines);
            }""",
            {"header": header["event"], "lines": lines[:10]},
        )
        is_at(page, 10, 10)
        page.keyboard.press("ArrowLeft")
        page.evaluate("lines => window.replay.add(lines)", lines[5:20])
        is_at(page, 9, 20)
        page.keyboard.press("End")
        page.evaluate("lines => window.replay.add(lines)", lines[20:])
        last = plies_of(SIXTY)
        is_at(page, last, last)
        page.evaluate("() => window.replay.end()")
        expect(page.locator(".outcome")).to_contain_text("The game is over")
        page.evaluate("() => window.replay.add([{ seq: 999, event: { kind: 'skip' }, obs: {} }])")
        expect(page.locator(".replay .problem")).to_contain_text("can't be shown")


@pytest.mark.parametrize("width", [360, 1366, 1920])
def test_nothing_is_wider_than_the_screen(
    chrome: Browser, site: str, one_file: str, width: int
) -> None:
    for address in (f"{site}/t/cup/g/1.1", f"{site}/t/cup/g/1.2", one_file):
        with new_page(chrome, width, 900, scheme="dark") as page:
            opened(page, address)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            board = page.locator("#board svg").bounding_box()
            assert board is not None
            assert board["width"] > 0.5 * min(width, 700)


def test_colours_are_told_apart_without_colour(chrome: Browser, site: str) -> None:
    with new_page(chrome) as page:
        opened(page, f"{site}/t/cup/g/1.1#ply=8")
        for color, shape, letter in zip(
            Color, ("circle", "rect", "polygon", "polygon"), "RWNB", strict=True
        ):
            penguin = page.locator(f".board .penguin.{color}").first
            assert penguin.locator(f"{shape}.shape").count() == 1
            assert penguin.text_content() == letter
