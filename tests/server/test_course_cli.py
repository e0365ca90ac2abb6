"""`croupier course`: what it writes, and that bad input is one clear line and exit code 2."""

import json
import subprocess
import sys
from typing import Any

import pytest
from click.testing import CliRunner

from croupier_common.grid import MAX_TILES
from croupier_server.course.cli import course
from croupier_server.course.harnesses import HARNESSES
from croupier_server.errors import UserError

STATE: dict[str, Any] = {
    "players": [
        {"color": "red", "score": 0, "places": [[0, 0]]},
        {"color": "white", "score": 0, "places": [[1, 1]]},
    ],
    "board": [[1, 2], [3, 4]],
}
MATCH: dict[str, Any] = {"row": 3, "column": 3, "fish": 2, "players": [["a", 1], ["b", 2]]}


def run(program: str, data: bytes) -> str:
    result = CliRunner().invoke(course, [program], input=data, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refusal(program: str, data: bytes) -> str:
    """What the input is refused with; croupier_server.cli writes it and exits with 2."""
    with pytest.raises(UserError) as refused:
        CliRunner().invoke(course, [program], input=data, catch_exceptions=False)
    line = str(refused.value)
    assert line.startswith(f"course {program}: ")
    assert line.isprintable()
    assert len(line) < 300
    return line


def with_part(whole: Any, path: list[str | int], part: Any) -> bytes:
    """A JSON value with one part of it replaced."""
    copy = json.loads(json.dumps(whole))
    at = copy
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = part
    return json.dumps(copy).encode()


def croupier(program: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "croupier_server", "course", program]
    return subprocess.run(command, input=data, capture_output=True, check=False)


def test_course_command_of_a_real_process() -> None:
    done = croupier("xstate", json.dumps(STATE).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == HARNESSES["xstate"](STATE)
    assert done.stdout.endswith(b"}\n")


def test_course_command_of_a_real_process_refuses_in_one_line() -> None:
    done = croupier("xboard", b"[" * 100_000)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.splitlines() == [
        b"croupier: course xboard: the input is nested too deeply to be anything that is asked for"
    ]


def test_course_command_imports_nothing_that_takes_long() -> None:
    script = (
        "import io, sys; sys.stdin = io.TextIOWrapper(io.BytesIO(b'{}'))\n"
        "from croupier_server.cli import main\n"
        "sys.argv = ['croupier', 'course', 'xboard']\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    slow = {"pydantic", "websockets", "structlog", "rich", "asyncio", "uvloop"}
    assert not slow & set(done.stdout.split())


@pytest.mark.parametrize("program", list(HARNESSES))
def test_course_help_says_what_is_read(program: str) -> None:
    result = CliRunner().invoke(course, [program, "--help"])
    assert result.exit_code == 0
    assert "Reads " in result.stdout


@pytest.mark.parametrize(
    ("program", "given", "written"),
    [
        ("xboard", b'{"position":[0,0],"board":[[1,2],[3]]}', "1\n"),
        ("xboard", b'\n {"position" : [0,0],\r\n"board":[[1]]}\n\n', "0\n"),
        ("xboard", b'\xef\xbb\xbf{"position":[0,0],"board":[[1]]}', "0\n"),
        ("xstrategy", json.dumps([2, STATE]).encode(), "[[0, 0], [1, 0]]\n"),
        ("xstate", b'{"players":[],"board":[[1]]}', "false\n"),
        ("xref", b'{"row":1,"column":1,"fish":1,"players":[["\\u00e9",1]]}', '["\\u00e9"]\n'),
        ("xref", '{"row":1,"column":1,"fish":1,"players":[["é",1]]}'.encode(), '["\\u00e9"]\n'),
    ],
)
def test_course_command_writes_one_json_value(program: str, given: bytes, written: str) -> None:
    assert run(program, given) == written


NO_JSON = {
    b"": "not one JSON value: Expecting value, at line 1, column 1",
    b"  \n": "not one JSON value",
    b'{"position": [0, 0], "board"': "not one JSON value",
    b'{"position": [0, 0]} {}': "Extra data, at line 1, column 22",
    b"{'position': 1}": "not one JSON value",
    b'{"position": NaN}': "NaN is no JSON number",
    b"-Infinity": "-Infinity is no JSON number",
    b"9" * 5000: "not JSON that is read here: ",
    b"[" * 100_000 + b"]" * 100_000: "nested too deeply",
    b'{"":' * 100_000: "nested too deeply",
    b'"\xff"': "not UTF-8 at byte 1",
    b"\xff\xfe[\x00": "not UTF-8 at byte 0",
    b'"\xed\xa0\x80"': "not UTF-8 at byte 1",
    b'{"position": "\n"}': "Invalid control character",
}


@pytest.mark.parametrize("program", ["xboard", "xref"])
@pytest.mark.parametrize(
    "data", list(NO_JSON), ids=[f"no-json-{number}" for number in range(len(NO_JSON))]
)
def test_course_command_refuses_what_is_no_json(program: str, data: bytes) -> None:
    assert NO_JSON[data] in refusal(program, data)


@pytest.mark.parametrize("program", list(HARNESSES))
@pytest.mark.parametrize("data", [b"0", b"null", b'"x"', b"[]", b"{}", b"[1,2,3]", b"[2,{}]"])
def test_course_command_refuses_other_shapes(program: str, data: bytes) -> None:
    refusal(program, data)


BAD_STATES: list[tuple[list[str | int], Any, str]] = [
    (["board"], [], "an array of one or more rows"),
    (["board"], [[]], "the board has no spots"),
    (["board"], [[1] * MAX_TILES, [1]], f"at most {MAX_TILES} are allowed"),
    (["board"], [[1, 2], 3], "row 1 of the board is not an array"),
    (["board", 0, 1], -1, "has -1 at [0,1]"),
    (["board", 0, 1], True, "has True at [0,1]"),
    (["board", 0, 1], 1.0, "has 1.0 at [0,1]"),
    (["board", 0, 1], "1", "has '1' at [0,1]"),
    (["board", 0, 1], 10**4000, "at [0,1]; a tile has"),
    (["board", 0, 1], None, "has None at [0,1]"),
    (["board", 0, 0], 0, "a penguin at [0,0] stands on a hole"),
    (["players"], {}, "players of the input is {}"),
    (["players", 0], "red", "players[0] is 'red'"),
    (["players", 1, "color"], 3, "color of players[1] is 3; a string is expected"),
    (["players", 1, "color"], "\ud800", "color of players[1] has half a surrogate pair"),
    (["players", 1, "score"], -1, "score of players[1] is -1; a whole number from 0"),
    (["players", 1, "score"], False, "score of players[1] is False"),
    (["players", 1, "places"], 7, "places of players[1] is 7; an array"),
    (["players", 1, "places", 0], [0], "places[0] of players[1] is [0]; [row, column]"),
    (["players", 1, "places", 0], [True, 1], "is [True, 1]; [row, column]"),
    (["players", 1, "places", 0], [1.0, 1], "is [1.0, 1]; [row, column]"),
    (["players", 1, "places", 0], [0, -1], "is [0, -1]; [row, column], whole numbers from 0"),
    (["players", 1, "places", 0], [0, 10**4000], "[row, column], whole numbers from 0"),
    (["players", 1, "places", 0], [2, 0], "[2,0] is outside the board of 2 rows and 2 columns"),
    (["players", 1, "places", 0], [0, 0], "two penguins stand on [0,0]"),
]


@pytest.mark.parametrize(
    ("path", "part", "reason"), BAD_STATES, ids=[reason for *_, reason in BAD_STATES]
)
def test_course_command_refuses_bad_states(path: list[str | int], part: Any, reason: str) -> None:
    assert reason in refusal("xstate", with_part(STATE, path, part))
    reason = reason.replace("the input", "the state")
    assert reason in refusal("xstrategy", with_part([1, STATE], [1, *path], part))


@pytest.mark.parametrize(
    "depth", [0, -1, True, 2.0, "2", None, pytest.param(10**4000, id="big"), [1]]
)
def test_course_command_refuses_bad_depths(depth: Any) -> None:
    wanted = f"; a whole number from 1 to {MAX_TILES} is expected"
    assert wanted in refusal("xstrategy", json.dumps([depth, STATE]).encode())
    assert wanted in refusal("xref", with_part(MATCH, ["players", 1, 1], depth))


def test_course_command_refuses_a_search_beyond_its_reach() -> None:
    state = {
        "players": [{"color": "red", "score": 0, "places": [[0, 0]]}],
        "board": [[1] * 20] * 20,
    }
    data = json.dumps([400, state]).encode()
    assert "at most 160 moves can be looked ahead" in refusal("xstrategy", data)


@pytest.mark.parametrize(
    ("path", "part", "reason"),
    [
        (["row"], 0, "row is 0; a whole number from 1"),
        (["column"], True, "column is True; a whole number from 1"),
        (["row"], MAX_TILES, f"row * column is {3 * MAX_TILES}; at most {MAX_TILES} is allowed"),
        (["fish"], 0, "fish is 0; a whole number from 1"),
        (["fish"], -2, "fish is -2"),
        (["players"], "ab", "players is 'ab'; an array"),
        (["players", 0], ["a"], "players[0] is ['a']; [name, depth]"),
        (["players", 0, 0], 1, "the name of players[0] is 1; a string"),
        (["players", 0, 0], "a\udfffb", "the name of players[0] has half a surrogate pair"),
    ],
)
def test_course_command_refuses_bad_matches(path: list[str | int], part: Any, reason: str) -> None:
    assert reason in refusal("xref", with_part(MATCH, path, part))


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        ([1, 0], [0, 1], "no penguin of the first player stands on from, [1,0]"),
        ([1, 1], [0, 1], "no penguin of the first player stands on from, [1,1]"),
        ([0, 0], [0, 0], "[0,0] to [0,0] is no legal move of the first player"),
        ([0, 0], [0, 1], "[0,0] to [0,1] is no legal move"),
        ([0, 0], [9, 9], "[0,0] to [9,9] is no legal move"),
        ([0, 0], [1], "to is [1]; [row, column]"),
        ([0, "0"], [1, 0], "from is [0, '0']; [row, column]"),
    ],
)
def test_xtree_refuses_a_move_that_is_not_legal(start: Any, end: Any, reason: str) -> None:
    data = json.dumps({"state": STATE, "from": start, "to": end}).encode()
    assert reason in refusal("xtree", data)


@pytest.mark.parametrize("position", [[0, 1], [5, 0]])
def test_xboard_refuses_a_position_without_a_tile(position: Any) -> None:
    data = json.dumps({"position": position, "board": [[1, 0], [1, 1]]}).encode()
    assert "a penguin at" in refusal("xboard", data)
