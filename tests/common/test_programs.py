"""What hosts of programs share."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.programs import (
    PATIENCE,
    CappedLog,
    Patience,
    end_text,
    friendly_variables,
    looks_printed,
    start_problem,
)


def test_program_has_two_seconds_to_end_and_one_more_after_the_signal() -> None:
    assert Patience(close_s=2.0, term_s=1.0) == PATIENCE


def test_end_of_a_program_in_words() -> None:
    assert end_text(0) == "ended with exit status 0"
    assert end_text(3) == "ended with exit status 3"
    assert end_text(-9) == "was ended by signal SIGKILL"
    assert end_text(-99) == "was ended by signal 99"


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EACCES, "chmod +x"),
        (errno.ENOEXEC, "its first line must say what runs it"),
        (errno.ENOENT, "does what its first line (#!) names exist"),
        (errno.ENOMEM, os.strerror(errno.ENOMEM)),
    ],
)
def test_problem_at_the_start_says_what_to_do(number: int, told: str) -> None:
    text = start_problem("./my-player", OSError(number, os.strerror(number)))
    assert text.startswith("can't start ./my-player: ")
    assert told in text


def test_variables_of_ones_own_stay() -> None:
    assert friendly_variables({}) == {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    assert friendly_variables({"PYTHONUNBUFFERED": ""}) == {"PYTHONIOENCODING": "utf-8"}


@pytest.mark.parametrize(
    ("line", "printed"), [('{"id":', False), (" [1]", False), ("move 1 2", True), ("", True)]
)
def test_printed_lines_are_told_from_attempts_at_replies(line: str, printed: bool) -> None:
    assert looks_printed(line) is printed


def written(pieces: list[bytes], head: int, tail: int) -> bytes:
    log = CappedLog(head, tail)
    return b"".join([log.feed(piece) for piece in pieces] + [log.end()])


@given(st.lists(st.binary(max_size=20)), st.integers(0, 40), st.integers(1, 40))
def test_log_has_the_head_and_the_tail_of_what_is_fed(
    pieces: list[bytes], head: int, tail: int
) -> None:
    stream, log = b"".join(pieces), written(pieces, head, tail)
    left_out = len(stream) - head - tail
    if left_out <= 0:
        assert log == stream
    else:
        told = b"\n[%d bytes left out]\n" % left_out
        assert log == stream[:head] + told + stream[-tail:]


def test_log_of_endless_noise_stays_within_a_mebibyte() -> None:
    log = written([b"noise" * 10_000] * 100 + [b"the end"], 896 << 10, 128 << 10)
    assert len(log) < (1 << 20) + 100
    assert log.endswith(b"the end")


def test_last_lines_are_fit_to_be_shown() -> None:
    log = CappedLog()
    log.feed(b"one\n\n  \x1b[31mtwo\xff\nthr")
    log.feed(b"ee\n" + b"x" * 500 + b"\n")
    assert [*log.last_lines(2)] == ["three", "x" * 199 + "…"]
    assert [*log.last_lines(9)][:2] == ["one", "  ?[31mtwo\ufffd"]
    assert CappedLog().last_lines(3) == []
