"""The addresses of pages: whatever a name is, it is one segment, and comes back."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from croupier_server.web.urls import Urls

URLS = Urls()
NAMES = st.text(st.characters(codec="utf-8"), min_size=1) | st.sampled_from(
    ["..", ".", "a/b", "~2F", "~", "x.json", ".json", "a\\b", "a?b#c", "%2F", "a\0b"]
)


@given(NAMES)
def test_name_is_one_segment_that_is_no_other_page_and_comes_back(name: str) -> None:
    url = URLS.player("cup", name)
    segment = url.removeprefix("/t/cup/p/")
    decoded = unquote(segment)
    assert segment.isascii()
    assert not set(segment) & set("/?#\\ ")
    assert not {"/", "\\"} & set(decoded)
    assert decoded not in {".", ".."}
    assert not decoded.endswith(".json")
    assert Urls.name(decoded) == name


def test_twin_keeps_the_query() -> None:
    assert URLS.json(URLS.home()) == "/index.json"
    assert URLS.json(URLS.games("cup", player="a b")) == "/t/cup/games.json?player=a+b"
