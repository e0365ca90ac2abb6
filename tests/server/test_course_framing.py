"""JSON values cut out of a stream: always the same ones, however the stream comes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.verdict import Verdict
from croupier_server.course.framing import MAX_DEPTH, Broken, Splitter, Value

Told = list[Any]


def told(found: Value | Broken) -> Any:
    return found.value if isinstance(found, Value) else found.verdict


def split(*parts: bytes, limit: int = 65_536, ended: bool = False) -> Told:
    """All that a splitter gives for these segments: values, and a verdict where it breaks."""
    splitter = Splitter(limit)
    given: Told = []
    for part in parts:
        splitter.receive(part)
        while (found := splitter.next()) is not None:
            given.append(told(found))
    if ended:
        splitter.end()
        while (found := splitter.next()) is not None:
            given.append(told(found))
    return given


def broken(*parts: bytes, limit: int = 65_536) -> Broken:
    splitter = Splitter(limit)
    for part in parts:
        splitter.receive(part)
        while (found := splitter.next()) is not None:
            if isinstance(found, Broken):
                return found
    raise AssertionError("it did not break")


def single_bytes(stream: bytes) -> list[bytes]:
    return [stream[at : at + 1] for at in range(len(stream))]


# -- values


VALUES: list[tuple[bytes, Told]] = [
    (b'"void"', ["void"]),
    (b'"void""void"', ["void", "void"]),
    (b"[0,1][[0,1],[2,3]]", [[0, 1], [[0, 1], [2, 3]]]),
    (b' \t\r\n[0] {"a":[]}\n', [[0], {"a": []}]),
    (b"truefalse null", [True, False, None]),
    (b"1 2\n-3.5e2 ", [1, 2, -350.0]),
    (b'12"a"', [12, "a"]),
    (b"12[3]", [12, [3]]),
    (rb'["]", "\"]", "\\"]"\\"', [["]", '"]', "\\"], "\\"]),
    ('"\u00e9\U0001f427"'.encode(), ["\u00e9\U0001f427"]),
    (b'"\\u00e9\\ud83d\\udc27"', ["\u00e9\U0001f427"]),
    (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, [json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)]),
]


@pytest.mark.parametrize(("stream", "values"), VALUES)
def test_values_come_whole_in_one_piece_and_byte_by_byte(stream: bytes, values: Told) -> None:
    assert split(stream) == values
    assert split(*single_bytes(stream)) == values


@pytest.mark.parametrize("begun", [b"[", b'"a', b"[[0,0],[0,1]", b"tru", b"-", b'{"a":1', b'"\\'])
def test_part_of_a_value_is_none(begun: bytes) -> None:
    assert split(begun) == split(begun, ended=True) == []
    splitter = Splitter()
    splitter.receive(b" " + begun)
    assert splitter.next() is None
    assert splitter.pending == begun.decode()


def test_nothing_is_pending_between_values() -> None:
    splitter = Splitter()
    splitter.receive(b'"void"\n ')
    assert splitter.next() == Value("void", '"void"')
    assert splitter.next() is None
    assert splitter.pending == ""


@pytest.mark.parametrize("number", [b"12", b"-12", b"0", b"1.5", b"1e3"])
def test_number_is_whole_only_when_something_follows_or_the_stream_ends(number: bytes) -> None:
    value = json.loads(number)
    assert split(number) == []
    assert split(number, b"3") == []
    assert split(number, b" ") == [value]
    assert split(number, b"]") == [value, Verdict.MALFORMED]
    assert split(number, ended=True) == [value]


def test_truncated_number_is_never_a_smaller_one() -> None:
    assert split(b"[1", b"2]") == [[12]]
    assert split(b"1", b"2", b" ") == [12]
    for begun in (b"1.", b"1e", b"1e-", b"-"):
        assert split(begun, ended=True) == []
        assert split(begun, b" ") == [Verdict.MALFORMED]


# -- what is none


MALFORMED = {
    "word": b"void",
    "NaN": b"NaN ",
    "NaN inside": b"[NaN,0]",
    "Infinity": b"-Infinity",
    "comma": b"[0,,1]",
    "last comma": b"[0,1,]",
    "no comma": b"[0 1]",
    "leading zero": b"[01]",
    "plus": b"+1",
    "two points": b"1.2.3 ",
    "brackets crossed": b"[0}",
    "bracket too many": b"]",
    "comment": b"[0 /* one */]",
    "single quotes": b"'void'",
    "bare key": b"{a:1}",
    "control character": b'"a\nb"',
    "not UTF-8": b'"\xff"',
    "not UTF-8 outside": b"\xff",
    "byte order mark": b'\xef\xbb\xbf"void"',
    "UTF-16": '"void"'.encode("utf-16"),
    "lone surrogate": b'"\\ud800"',
    "bad escape": b'"\\x41"',
    "5,000 digits": b"1" * 5_000 + b" ",
    "5,000 digits inside": b"[" + b"1" * 5_000 + b",0]",
    "nested deep": b"[" * 100_000,
    "objects nested deep": b'{"a":' * 10_000,
    "nul": b"\0",
    "mistyped literal": b"ture",
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_breaks_the_stream_for_good(case: str) -> None:
    stream = MALFORMED[case]
    assert split(stream, b' "void"') == [Verdict.MALFORMED]
    assert split(b'"void"', *single_bytes(stream)) == ["void", Verdict.MALFORMED]


def test_break_says_what_is_wrong_and_shows_what_came() -> None:
    for stream, detail in (
        (b"void", "'v' begins no value"),
        (b"nil", "'ni' begins no value"),
        (b"[0,x]", "'x' outside a string"),
        (b"[0,,1]", "line 1 column 4"),
        (b"[" * 100, f"more than {MAX_DEPTH} deep"),
    ):
        found = broken(stream)
        assert detail in found.detail
        assert found.raw.startswith(stream.decode()[:2])
    assert broken(b'"' + b"a\xff" * 1_000 + b'"').raw == '"' + "a\ufffd" * 199 + "a"


def test_value_over_the_limit_is_oversize() -> None:
    exact = b'"' + b"a" * 98 + b'"'
    assert split(exact, limit=100) == ["a" * 98]
    for stream in (
        exact[:-1] + b'a"',
        exact[:-1] + b"aa",
        b"1" * 101,
        b" " * 101,
        b" " + exact,
        b"[" + b"1," * 50,
    ):
        assert split(stream, limit=100) == [Verdict.OVERSIZE]
        assert split(*single_bytes(stream), limit=100) == [Verdict.OVERSIZE]
    found = broken(b'"' + b"a" * 70_000)
    assert "65536 bytes" in found.detail
    assert len(found.raw) == 400


def test_what_is_wrong_beyond_the_limit_was_oversize_before() -> None:
    stream = b"[" + b" " * 99 + b"x"
    assert split(stream, limit=101) == [Verdict.MALFORMED]
    assert split(stream, limit=100) == split(*single_bytes(stream), limit=100)
    assert split(stream, limit=100) == [Verdict.OVERSIZE]


def test_limit_is_for_each_value_and_not_for_all() -> None:
    stream = b"[0,1]\n" * 10_000
    assert split(stream, limit=10) == [[0, 1]] * 10_000


def test_large_value_in_small_pieces_takes_no_time_to_speak_of() -> None:
    """Each byte is looked at once; a second look at all for every piece would take minutes."""
    stream = b"[" + b'"abc",' * 40_000 + b"0]"
    pieces = [stream[at : at + 3] for at in range(0, len(stream), 3)]
    assert len(split(*pieces, limit=1_000_000)[0]) == 40_001


# -- however it comes


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # half a surrogate pair is no text
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab\\"[]{}é'), inner),
    max_leaves=8,
)
BLANK = st.text(" \t\r\n", max_size=3)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Any], bytes]:
    """Values, and a stream of them in some spelling."""
    values = draw(st.lists(JSON, max_size=6))
    text = draw(BLANK)
    for value in values:
        spaced = draw(st.booleans())
        text += json.dumps(value, ensure_ascii=draw(st.booleans()), indent=2 if spaced else None)
        text += draw(BLANK)
        if type(value) in {int, float} and not text[-1].isspace():
            text += " "  # two numbers would be one
    return values, text.encode()


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(stream) + 1) for place in places} | {len(stream)})
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]


CUTS = st.lists(st.integers(0, 10_000), max_size=20)


@given(streams(), CUTS)
def test_any_segments_give_the_same_values(
    written: tuple[list[Any], bytes], places: list[int]
) -> None:
    values, stream = written
    for parts in ([stream], cut(stream, places), single_bytes(stream)):
        assert split(*parts, ended=True) == values


@given(
    st.lists(st.sampled_from([b"[", b"]", b"{", b"}", b'"', b"\\", b",", b":", b" ", b"1", b"-",
                              b"e", b".", b"true", b"nul", b"x", b"\xff", b"\xc3\xa9", b"[0,1]",
                              b'"void"', b'{"a":'])),
    CUTS,
    st.integers(1, 20),
)  # fmt: skip
def test_any_segments_break_at_the_same_place_for_the_same_reason(
    words: list[bytes], places: list[int], limit: int
) -> None:
    stream = b"".join(words)
    whole = split(stream, limit=limit, ended=True)
    assert split(*cut(stream, places), limit=limit, ended=True) == whole
    assert split(*single_bytes(stream), limit=limit, ended=True) == whole


@given(st.binary(max_size=200), CUTS)
def test_any_bytes_are_split_or_break_and_never_raise(stream: bytes, places: list[int]) -> None:
    assert split(stream, ended=True) == split(*cut(stream, places), ended=True)
