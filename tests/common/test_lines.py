"""Lines of JSON, out of bytes in any pieces."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.lines import MAX_LINE, BadLine, Flaw, Line, LineSplitter, line_bytes


def split(*pieces: bytes, max_bytes: int = 20) -> list[Line | BadLine]:
    """What a splitter makes of a stream that came in pieces and has ended."""
    splitter = LineSplitter(max_bytes)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.end()


def texts(*pieces: bytes, max_bytes: int = 20) -> list[str]:
    return [
        line.text if isinstance(line, Line) else line.flaw.value
        for line in split(*pieces, max_bytes=max_bytes)
    ]


def test_lines_end_with_lf_or_crlf() -> None:
    assert texts(b"one\ntwo\r\nthree\n") == ["one", "two", "three"]


def test_line_comes_out_as_soon_as_it_ends() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"on") == []
    assert splitter.has_begun
    assert splitter.feed(b"e\ntw") == [Line("one")]
    assert splitter.feed(b"o\r") == []
    assert splitter.feed(b"\n") == [Line("two")]
    assert not splitter.has_begun


def test_last_line_without_newline_is_told_from_the_others() -> None:
    assert split(b"one\ntwo") == [Line("one"), Line("two", whole=False)]
    assert split(b"one\ntwo\r") == [Line("one"), Line("two", whole=False)]
    assert split(b"one\n") == [Line("one")]


def test_carriage_return_within_a_line_stays() -> None:
    assert texts(b"a\rb\n") == ["a\rb"]


def test_blank_lines_are_passed_over_and_counted() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"\n \t\r\none\n\n") == [Line("one")]
    assert splitter.end() == []
    assert splitter.blank == 3


@pytest.mark.parametrize("pieces", [(b"\xef\xbb\xbfone\n",), (b"\xef", b"\xbb", b"\xbfone", b"\n")])
def test_byte_order_mark_at_the_beginning_is_passed_over(pieces: tuple[bytes, ...]) -> None:
    assert texts(*pieces) == ["one"]


def test_byte_order_mark_elsewhere_stays() -> None:
    assert texts(b"a\n\xef\xbb\xbfone\n") == ["a", "\ufeffone"]


def test_longest_line_is_taken_and_one_byte_more_is_not() -> None:
    assert texts(b"x" * 20 + b"\n", max_bytes=20) == ["x" * 20]
    assert texts(b"x" * 20 + b"\r\n", max_bytes=20) == ["x" * 20]
    assert texts(b"x" * 21 + b"\n", max_bytes=20) == ["too long"]
    assert texts(b"x" * 20 + b"\ry\n", max_bytes=20) == ["too long"]


def test_longest_line_is_by_default_the_largest_message() -> None:
    assert MAX_LINE == 65_536
    splitter = LineSplitter()
    assert splitter.feed(b"x" * MAX_LINE + b"\n") == [Line("x" * MAX_LINE)]


def test_line_that_is_too_long_is_reported_at_once_and_only_once() -> None:
    splitter = LineSplitter(4)
    (bad,) = splitter.feed(b"12345")
    assert isinstance(bad, BadLine)
    assert (bad.flaw, bad.raw, bad.shown) == (Flaw.TOO_LONG, b"12345", "12345")
    assert "more than 4 bytes" in bad.detail
    assert splitter.feed(b"6789" * 1000) == []
    assert not splitter.has_begun
    assert splitter.feed(b"\nnext\n") == [Line("next")]


def test_endless_line_takes_no_memory() -> None:
    splitter = LineSplitter(100)
    for _ in range(1000):
        splitter.feed(b"x" * 1000)
    assert len(splitter._rest) <= 1000  # pyright: ignore[reportPrivateUsage]


def test_line_that_is_not_utf8_is_given_with_its_bytes() -> None:
    (bad, good) = split(b"caf\xe9\r\ngood\n")
    assert isinstance(bad, BadLine)
    assert (bad.flaw, bad.raw, bad.shown) == (Flaw.NOT_UTF8, b"caf\xe9", "caf\ufffd")
    assert "byte 3" in bad.detail
    assert good == Line("good")


def test_character_cut_in_two_by_the_pieces_is_whole() -> None:
    assert texts("Zoë".encode()[:3], "Zoë\n".encode()[3:]) == ["Zoë"]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)), st.integers(1, 40))
def test_pieces_make_no_difference(stream: bytes, cuts: list[int], max_bytes: int) -> None:
    at = [0, *sorted(cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(at)]
    assert split(*pieces, max_bytes=max_bytes) == split(stream, max_bytes=max_bytes)


@given(st.lists(st.binary(max_size=30)))
def test_lines_are_what_splitting_naively_gives(lines: list[bytes]) -> None:
    stream = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines)
    wanted: list[str] = []
    for at, line in enumerate(stream.split(b"\n")[:-1]):
        bare = line.removeprefix(b"\xef\xbb\xbf") if at == 0 else line
        bare = bare.removesuffix(b"\r")
        if bare.strip():
            wanted.append(_decoded(bare))
    assert texts(stream, max_bytes=100) == wanted


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "not UTF-8"


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner, max_size=3)))
def test_message_written_as_a_line_is_read_as_the_same(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        if re.search("[\ud800-\udfff]", text):
            continue
        raw = line_bytes(text)
        assert raw.endswith(b"\n")
        assert raw.count(b"\n") == 1
        assert len(raw.decode().splitlines()) == 1
        (line,) = LineSplitter().feed(raw)
        assert isinstance(line, Line)
        assert json.loads(line.text) == value
