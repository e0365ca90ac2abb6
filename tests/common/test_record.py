"""Records: what is written is read and replayed, and nothing else is."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.board import Board
from croupier_common.board_spec import BoardSpec
from croupier_common.errors import RecordError
from croupier_common.events import Ended
from croupier_common.game import Game, NumberedEvent
from croupier_common.jsontypes import is_array, is_object
from croupier_common.outcome import Color
from croupier_common.record import (
    FORMAT,
    Header,
    Record,
    RecordWriter,
    Seat,
    read_record,
    replay,
    walk,
)
from croupier_common.rules import Rules
from croupier_common.verdict import Fault, Phase, Verdict
from support.drawn import options, player_colors

RED, WHITE, BROWN, BLACK = Color
OBSERVED = {"t_ms": 12, "think_ms": 3}


@dataclass(frozen=True)
class Played:
    """A game that was played, and its record as written."""

    game: Game
    header: Header
    lines: tuple[bytes, ...]


def play(
    seed: int,
    board: Board,
    colors: Sequence[Color],
    rules: Rules,
    *,
    spec: BoardSpec | None = None,
    absent: Sequence[Color] = (),
    ejections: float = 0.0,
    plies: int = 10**6,
    observed: Mapping[str, Any] | None = None,
) -> Played:
    """Play at random and record it, up to so many plies; what is left is interrupted.

    `ejections` is the chance that somebody is ejected instead of a ply.
    """
    random = Random(seed)
    lines: list[str] = []
    writer = RecordWriter(lines.append)
    seats = tuple(Seat(f"player {color}", color) for color in colors)
    header = Header("1.1", board, rules, seats, seed, spec)
    game = Game("1.1", board, colors, rules)
    writer.header(header, {"time_ms": 1})
    faults = {c: Fault(Verdict.NO_START, Phase.GAME_START, "silent") for c in absent}
    happened = game.begin(faults)
    while True:
        for numbered in happened:
            writer.event(numbered.event, observed or {**OBSERVED, "seq": numbered.seq})
        request = game.request
        plies -= 1
        if request is None or plies < 0:
            break
        if random.random() < ejections:
            left = [player.color for player in request.state.active]
            fault = Fault(Verdict.TIMEOUT, request.phase, "too late")
            happened = game.fault(random.choice(left), fault)
        else:
            happened = game.act(random.choice(list(request.state.legal_actions)))
    if game.request is not None:
        writer.interrupted("StoppedError")
    return Played(game, header, tuple(line.encode() for line in lines))


SPEC = BoardSpec(rows=4, columns=3, fish=(1, 3))


@cache
def example() -> Played:
    """A game of two with a skip and an ejection, on a board that spec and seed give."""
    for seed in range(10_000):
        played = play(seed, SPEC.build(seed), [RED, WHITE], Rules(), spec=SPEC, ejections=0.1)
        kinds = [numbered.event.kind for numbered in played.game.events]
        if {"skip", "eject"} <= set(kinds[9:]) and kinds.count("move") > 2 > kinds.count("eject"):
            return played
    raise AssertionError("no such game")


def refused(lines: Sequence[bytes]) -> RecordError:
    """Why a record is refused, by reading or by replaying it."""
    with pytest.raises(RecordError) as caught:
        replay(read_record(lines))
    assert str(caught.value) == f"line {caught.value.line}: {caught.value.reason}"
    return caught.value


# -- round trips


specs = st.builds(
    BoardSpec,
    rows=st.integers(4, 7),
    columns=st.integers(3, 5),
    holes=st.integers(0, 3),
    fish=st.sampled_from([2, (1, 3), {1: 2, 5: 1}]),
)


@given(
    st.integers(0, 2**32),
    specs,
    player_colors(),
    options(),
    st.sampled_from([0.0, 0.02, 0.2]),
    st.lists(st.sampled_from(list(Color)), max_size=2),
    st.just(10**6) | st.integers(0, 20),
)
def test_what_is_written_is_read_and_replayed(
    seed: int,
    spec: BoardSpec,
    colors: list[Color],
    options: dict[str, str],
    ejections: float,
    absent: list[Color],
    plies: int,
) -> None:
    rules = Rules(**options)
    played = play(
        seed,
        spec.build(seed, rules=rules, players=len(colors)),
        colors,
        rules,
        spec=spec,
        absent=[color for color in colors if color in absent],
        ejections=ejections,
        plies=plies,
    )
    record = read_record(played.lines)
    assert record.header == played.header
    assert [line.seq for line in record.lines] == list(range(len(played.lines)))
    assert record.is_interrupted is (played.game.request is not None)
    game = replay(record)
    assert game.events == played.game.events
    assert game.state == played.game.state
    assert game.outcome == played.game.outcome
    assert game.faults.keys() == played.game.faults.keys()


def test_walk_gives_the_start_and_every_step() -> None:
    played = example()
    told: list[NumberedEvent] = []
    for game, events in walk(read_record(played.lines)):
        told.extend(events)
        assert game.events == told
    assert told == played.game.events


def test_lines_are_compact_and_in_order() -> None:
    for number, line in enumerate(example().lines):
        value = json.loads(line)
        assert list(value) == ["seq", "event", "obs", "digest", "chain"]
        assert value["seq"] == number
        assert line == json.dumps(value, separators=(",", ":")).encode() + b"\n"


def test_hashes_are_what_the_format_says() -> None:
    digest = chain = ""
    for line in example().lines:
        value = json.loads(line)
        event = json.dumps(value["event"], separators=(",", ":"))
        digest = sha256((digest + event).encode()).hexdigest()
        chain = sha256(chain.encode() + line[: line.index(b',"chain":')]).hexdigest()
        assert (value["digest"], value["chain"]) == (digest, chain)


def test_writer_knows_the_last_hashes() -> None:
    lines: list[str] = []
    writer = RecordWriter(lines.append)
    writer.header(example().header, {})
    writer.interrupted("StoppedError")
    last = json.loads(lines[-1])
    assert (writer.digest, writer.chain) == (last["digest"], last["chain"])
    record = read_record([line.encode() for line in lines])
    assert (record.digest, record.chain) == (writer.digest, writer.chain)


def test_names_that_are_not_ascii_stay_as_they_are() -> None:
    lines: list[str] = []
    header = Header("1.1", SPEC.build(1), Rules(), (Seat("Ädä \U0001f427", RED),), 1, SPEC)
    RecordWriter(lines.append).header(header, {"sent": '"\u2028"'})
    assert "Ädä \U0001f427" in lines[0]
    assert len(lines[0].splitlines()) == 2  # U+2028 ends a line for str; a file's lines end at \n
    writer = RecordWriter(lines.append)
    lines.clear()
    writer.header(header, {"sent": '"\u2028"'})
    writer.interrupted("StoppedError")
    assert read_record([line.encode() for line in lines]).header == header


def test_game_that_is_over_is_not_interrupted_any_more() -> None:
    lines: list[str] = []
    writer = RecordWriter(lines.append)
    played = example()
    writer.header(played.header, {})
    for numbered in played.game.events:
        writer.event(numbered.event, {})
    writer.interrupted("StoppedError")
    writer.interrupted("StoppedError")
    record = read_record([line.encode() for line in lines])
    assert not record.is_interrupted
    assert replay(record).outcome == played.game.outcome


def test_interrupted_twice_has_one_footer() -> None:
    lines: list[str] = []
    writer = RecordWriter(lines.append)
    writer.header(example().header, {})
    writer.interrupted("StoppedError")
    writer.interrupted("StoppedError")
    assert len(lines) == 2


@pytest.mark.parametrize("plies", [0, 1, 7, 8, 9])
def test_interrupted_record_is_valid_and_stops_where_the_game_did(plies: int) -> None:
    seed = 5
    played = play(seed, SPEC.build(seed), [RED, WHITE], Rules(), spec=SPEC, plies=plies)
    record = read_record(played.lines)
    assert record.is_interrupted
    game = replay(record)
    assert game.outcome is None
    assert game.request == played.game.request


def test_all_failing_at_the_start_is_a_game_without_winners() -> None:
    played = play(1, SPEC.build(1), [RED, WHITE], Rules(), spec=SPEC, absent=[RED, WHITE])
    game = replay(read_record(played.lines))
    assert game.outcome is not None
    assert game.outcome.winners == ()
    assert [numbered.event.kind for numbered in game.events] == ["eject", "eject", "end"]


# -- the same game


def test_same_game_has_the_same_digest_whatever_was_observed() -> None:
    boards = SPEC.build(3)
    one = play(3, boards, [RED, WHITE], Rules(), spec=SPEC, ejections=0.1)
    other = play(
        3, boards, [RED, WHITE], Rules(), spec=SPEC, ejections=0.1, observed={"t_ms": 99_999}
    )
    assert one.lines != other.lines
    assert read_record(one.lines).digest == read_record(other.lines).digest
    assert read_record(one.lines).chain != read_record(other.lines).chain


def test_other_game_has_another_digest() -> None:
    digests = {
        read_record(play(s, SPEC.build(3), [RED, WHITE], Rules()).lines).digest for s in range(5)
    }
    assert len(digests) == 5


# -- damage


def test_any_changed_digit_is_refused_and_its_line_named() -> None:
    lines = example().lines
    for number, line in enumerate(lines, 1):
        for at, byte in enumerate(line):
            if not chr(byte).isdigit():
                continue
            changed = line[:at] + (b"1" if byte != ord("1") else b"2") + line[at + 1 :]
            with pytest.raises(RecordError) as caught:
                read_record([*lines[: number - 1], changed, *lines[number:]])
            assert caught.value.line == number


@given(st.data())
def test_any_changed_byte_is_refused_and_its_line_named(data: st.DataObject) -> None:
    lines = example().lines
    number = data.draw(st.integers(0, len(lines) - 1))
    line = lines[number]
    at = data.draw(st.integers(0, len(line) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[at]))
    text = b"".join([*lines[:number], line[:at] + bytes([byte]) + line[at + 1 :]])
    text += b"".join(lines[number + 1 :])
    with pytest.raises(RecordError) as caught:
        read_record(text.splitlines(keepends=True) if byte == 10 else as_a_file_has_them(text))
    assert caught.value.line == number + 1


def as_a_file_has_them(text: bytes) -> list[bytes]:
    """The lines of a binary file, which end at a newline and at nothing else."""
    return [line + b"\n" for line in text.split(b"\n")[:-1]] + [
        line for line in text.split(b"\n")[-1:] if line
    ]


def damaged(change: Callable[[list[bytes]], object]) -> list[bytes]:
    lines = list(example().lines)
    change(lines)
    return lines


def swap(lines: list[bytes], one: int, other: int) -> None:
    lines[one], lines[other] = lines[other], lines[one]


LAST = len(example().lines)


@pytest.mark.parametrize(
    ("lines", "line", "told"),
    [
        (damaged(lambda lines: lines.pop(4)), 5, "its chain is wrong"),
        (damaged(lambda lines: lines.pop(0)), 1, "no header"),
        (damaged(lambda lines: swap(lines, 3, 4)), 4, "its chain is wrong"),
        (damaged(lambda lines: lines.insert(4, lines[4])), 6, "its chain is wrong"),
        (damaged(lambda lines: lines.pop()), LAST, "it has no footer"),
        (damaged(lambda lines: lines.append(lines[-1])), LAST + 1, "after the footer"),
        (damaged(lambda lines: lines.append(b"x")), LAST + 1, "after the footer"),
        (damaged(lambda lines: lines.append(b"\n")), LAST + 1, "after the footer"),
        (damaged(lambda lines: lines.insert(3, b"\n")), 4, "not a line of JSON"),
        (damaged(lambda lines: lines.insert(3, b"[]\n")), 4, "not a line of a record"),
        (damaged(lambda lines: lines.insert(3, b'{"seq":3}\n')), 4, "not a line of a record"),
        ([*example().lines[:4], example().lines[4][:-1]], 5, "the line is cut off"),
        ([*example().lines[:4], example().lines[4][:30]], 5, "the line is cut off"),
        ([*example().lines[:4], example().lines[4][:30] + b"\n"], 5, "not a line of JSON"),
        ([example().lines[0].replace(b"1.1", b"1.\xff")], 1, "not a line of JSON"),
        ([example().lines[0].decode().encode("utf-16")], 1, "the line is cut off"),
        ([line.replace(b"\n", b"\r\n") for line in example().lines], 1, "ends with CR LF"),
        (damaged(lambda lines: lines.append(lines.pop()[:-1] + b"\r\n")), LAST, "ends with CR LF"),
        ([b"\xef\xbb\xbf" + example().lines[0]], 1, "a byte-order mark, which was added"),
        ([], 1, "the record is empty"),
        ([b""], 1, "the line is cut off"),
        ([b"\n"], 1, "not a line of JSON"),
        ([b"[" * 100_000 + b"\n"], 1, "not a line of JSON"),
    ],
    ids=range(23),
)
def test_damaged_record_is_refused_and_the_line_named(
    lines: list[bytes], line: int, told: str
) -> None:
    problem = refused(lines)
    assert told in problem.reason
    assert problem.line == line


def test_only_the_footer_of_a_longer_record_is_refused() -> None:
    assert refused(example().lines[-1:]).line == 1


# -- forgery: the hashes are right, and what is said is wrong

Events = list[dict[str, Any]]


def forged(events: Sequence[Mapping[str, Any]], *, obs: str = '{"t_ms":1}') -> list[bytes]:
    """Lines with those events and the hashes that they need."""
    lines: list[bytes] = []
    digest = chain = ""
    for seq, event in enumerate(events):
        told = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
        digest = sha256((digest + told).encode(errors="surrogatepass")).hexdigest()
        body = f'{{"seq":{seq},"event":{told},"obs":{obs},"digest":"{digest}"'
        chain = sha256((chain + body).encode(errors="surrogatepass")).hexdigest()
        lines.append(f'{body},"chain":"{chain}"}}\n'.encode(errors="surrogatepass"))
    return lines


def told(record: Record) -> Events:
    """The events of a record, to be changed; the header first."""
    return [copy.deepcopy(dict(line.event)) for line in record.lines]


def honest() -> Events:
    return told(read_record(example().lines))


def find(events: Events, kind: str) -> int:
    """The first event of a kind, as an index: its line's number less one."""
    return next(at for at, event in enumerate(events) if event["kind"] == kind)


def test_forger_who_changes_nothing_has_a_valid_record() -> None:
    lines = forged(honest())
    assert replay(read_record(lines)).outcome == example().game.outcome
    assert read_record(lines).digest == read_record(example().lines).digest


def test_illegal_move_is_refused() -> None:
    events = honest()
    at = find(events, "move")
    events[at]["to"] = events[at]["from"]
    problem = refused(forged(events))
    assert problem.line == at + 1
    assert "at least one step" in problem.reason


def test_placement_in_place_of_a_move_is_refused() -> None:
    events = honest()
    at = find(events, "move")
    events[at] = {"kind": "place", "color": events[at]["color"], "at": events[at]["to"]}
    assert refused(forged(events)).line == at + 1


def test_turn_of_another_player_is_refused() -> None:
    events = honest()
    assert events[1]["color"] == "red"
    events[1]["color"] = "white"
    problem = refused(forged(events))
    assert (problem.line, problem.reason) == (2, "it is red's turn, not white's")


def test_wrong_number_of_fish_is_refused() -> None:
    events = honest()
    at = find(events, "move")
    events[at]["fish"] += 1
    problem = refused(forged(events))
    assert problem.line == at + 1
    assert "by the rules it is" in problem.reason


@pytest.mark.parametrize("name", ["ranking", "fish", "tiles", "ejected"])
def test_wrong_outcome_is_refused(name: str) -> None:
    events = honest()
    outcome = events[-1]["outcome"]
    value = outcome[name]
    outcome[name] = value[:-1] if isinstance(value, list) else {c: n + 1 for c, n in value.items()}
    assert refused(forged(events)).line == len(events)


def test_missing_skip_is_refused() -> None:
    events = honest()
    at = find(events, "skip")
    del events[at]
    problem = refused(forged(events))
    assert problem.line == at + 1
    assert '"skip"' in problem.reason


def test_skip_too_many_is_refused() -> None:
    events = honest()
    events.insert(3, {"kind": "skip", "color": "red"})
    assert refused(forged(events)).line == 4


def test_end_too_early_is_refused() -> None:
    events = honest()
    problem = refused(forged([*events[:6], events[-1]]))
    assert problem.line == 7
    assert "does not follow from the rules" in problem.reason


def test_interruption_between_a_move_and_what_follows_is_refused() -> None:
    events = honest()
    at = find(events, "skip")
    problem = refused(forged([*events[:at], {"kind": "interrupted"}]))
    assert problem.line == at + 1


def test_interruption_after_the_last_move_is_refused() -> None:
    events = honest()
    problem = refused(forged([*events[:-1], {"kind": "interrupted"}]))
    assert problem.line == len(events)


def test_ejection_left_out_is_refused() -> None:
    events = honest()
    at = find(events, "eject")
    del events[at]
    assert refused(forged(events)).line >= at + 1


def test_ejection_of_the_same_player_twice_is_refused() -> None:
    events = honest()
    at = find(events, "eject")
    events.insert(at, events[at])
    problem = refused(forged(events))
    assert problem.line == at + 2


@pytest.mark.parametrize(
    "change",
    [
        {"color": "brown"},
        {"color": "green"},
        {"phase": "placement"},
        {"phase": "game_start"},
        {"phase": "lunch"},
        {"verdict": "no_room"},
        {"verdict": "boredom"},
    ],
    ids=str,
)
def test_ejection_that_can_not_be_is_refused(change: dict[str, str]) -> None:
    events = honest()
    at = find(events, "eject")
    events[at] |= change
    assert refused(forged(events)).line == at + 1


def test_failures_at_the_start_are_in_turn_order() -> None:
    played = play(1, SPEC.build(1), [RED, WHITE], Rules(), spec=SPEC, absent=[RED, WHITE])
    events = told(read_record(played.lines))
    events[1], events[2] = events[2], events[1]
    assert refused(forged(events)).line == 2


@pytest.mark.parametrize(
    "change",
    [
        {"board": [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]},
        {"seed": 10**9},
        {"spec": {"rows": 4, "columns": 3, "holes": 0, "fish": 2}},
        {"spec": {"rows": 4, "columns": 3, "holes": 13}},
        {"spec": {"rows": 0}},
        {"spec": 5},
        {"spec": {"rows": 4, "columns": 3, "fish": [1, 3], "later": 1}},
        {"board": [[0]], "spec": None},
        {"board": "x"},
        {"rules": "chess"},
        {"rules": {"lift": "now"}},
        {"players": []},
        {"players": [{"name": "a", "color": "red"}] * 2},
        {"players": [{"name": "a", "color": "green"}]},
        {"players": [{"color": "red"}]},
        {"players": ["red"]},
        {"players": {"red": "a"}},
        {"seed": True},
        {"seed": "1"},
        {"game": 1},
        {"format": True},
        {"format": 1.0},
        {"format": "1"},
        {"format": None},
        {"kind": "end"},
    ],
    ids=str,
)
def test_header_that_can_not_be_is_refused(change: dict[str, Any]) -> None:
    events = honest()
    events[0] |= change
    assert refused(forged(events)).line == 1


@pytest.mark.parametrize("name", ["format", "game", "seed", "spec", "board", "rules", "players"])
def test_header_without_a_field_is_refused(name: str) -> None:
    events = honest()
    del events[0][name]
    lines = forged(events)
    if name == "rules":
        assert "rules are" in refused(lines).reason
    assert refused(lines).line == 1


@pytest.mark.parametrize("version", [FORMAT + 1, 0, 10**30])
def test_other_format_is_refused_by_name_however_its_lines_are_hashed(version: int) -> None:
    events = honest()
    events[0]["format"] = version
    lines = [line.replace(b'"chain":"', b'"chain":"z') for line in forged(events)]
    problem = refused(lines)
    assert problem.line == 1
    assert f"format {str(version)[:20]} is not known" in problem.reason
    assert f"reads format {FORMAT}" in problem.reason


@pytest.mark.parametrize(
    "at", [["0", "1"], [0], [0, 1, 2], 7, None, {"row": 0}, [True, False], [0.0, 1.0], [[], []]]
)
def test_position_that_is_none_is_refused(at: object) -> None:
    events = honest()
    events[1]["at"] = at
    assert refused(forged(events)).line == 2


def test_numbers_that_only_look_equal_are_refused() -> None:
    events = honest()
    move = find(events, "move")
    events[move]["fish"] = float(events[move]["fish"])
    assert refused(forged(events)).line == move + 1


@pytest.mark.parametrize(
    "obs", ["[]", "1", "null", '{"t_ms":NaN}', r'{"sent":"\ud800"}', '{"sent":"\ud800"}']
)
def test_obs_that_is_no_object_of_json_is_refused(obs: str) -> None:
    assert refused(forged(honest(), obs=obs)).line == 1


def rehashed(line: str) -> bytes:
    """A first line whose text was changed, with a right chain."""
    body, _, _ = line.rpartition(',"chain":"')
    return f'{body},"chain":"{sha256(body.encode()).hexdigest()}"}}\n'.encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed":', '"seed":0,"seed":'),  # of a name given twice, readers may take either
        ('"seed":', '"seed": '),
        ('{"seq":0,"event"', '{"seq":0, "event"'),
        ('{"seq":0,', '{"seq":1,'),
        ('{"seq":0,', '{"seq":0.0,'),
        ('"digest":"', '"digest":"0'),
        ('"obs":', '"obs":[],"more":'),
    ],
)
def test_line_in_another_form_is_refused(old: str, new: str) -> None:
    first, *others = example().lines
    changed = rehashed(first.decode().replace(old, new, 1))
    with pytest.raises(RecordError) as caught:
        read_record([changed, *others])
    assert caught.value.line == 1
    assert "its chain" not in caught.value.reason


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


def spots_of(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place within a JSON value, as what it is in and under which name or number there."""
    if is_object(value):
        for name in value:
            yield value, name
            yield from spots_of(value[name])
    elif is_array(value):
        for number, part in enumerate(value):
            yield value, number
            yield from spots_of(part)


@given(st.data())
def test_any_forgery_is_refused_or_changes_nothing(data: st.DataObject) -> None:
    """Whatever stands in whatever place: a reason and a line, and no other exception."""
    events = honest()
    at = data.draw(st.integers(0, len(events) - 1))
    spot, key = data.draw(st.sampled_from(list(spots_of(events[at]))))
    spot[key] = data.draw(JSON_VALUES | st.sampled_from(["end", "place", "red", "spec", 0, 1]))
    try:
        replay(read_record(forged(events)))
    except RecordError as problem:
        line = problem.line
    else:
        line = 0
    assert line <= len(events) + 1
    if not line:
        assert json.dumps(events[1:]) == json.dumps(honest()[1:])


def test_end_is_the_outcome_of_the_game() -> None:
    played = example()
    last = played.game.events[-1].event
    assert isinstance(last, Ended)
    assert read_record(played.lines).lines[-1].event == last.to_json()
