"""The gate to the operator's pages: the token, sessions, forms' marks, and limits on tries."""

from __future__ import annotations

import re
import stat
import sys
from pathlib import Path

import pytest

from croupier_server import cli
from croupier_server.errors import UserError
from croupier_server.settings import Settings, load_settings
from croupier_server.web.operator.cli import operator_token
from croupier_server.web.operator.sessions import LASTS_S, MAX_NOTICES, Notice, Session, Sessions
from croupier_server.web.operator.throttle import MAX_OF_ALL, MAX_OF_ONE, WINDOW_S, Throttle
from croupier_server.web.operator.token import FILE, hash_of, is_token, keep, known_hash, new_token

HASH = hash_of("right")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def settings(data: Path | str, **web: object) -> Settings:
    return load_settings(None, {"storage": {"data": data}, "web": web})


# -- the token


def test_command_shows_a_token_once_and_keeps_its_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert operator_token.main(["--data", str(tmp_path / "new")], standalone_mode=False) == 0
    token = capsys.readouterr().out.strip()
    file = tmp_path / "new" / FILE
    assert token not in file.read_text(encoding="ascii")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    known = known_hash(settings(tmp_path / "new"))
    assert known is not None
    assert is_token(token, known)
    assert [path.name for path in file.parent.iterdir()] == [FILE]


def test_second_token_takes_the_place_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens: list[str] = []
    for _ in range(2):
        operator_token.main(["--data", str(tmp_path)], standalone_mode=False)
        tokens.append(capsys.readouterr().out.strip())
    known = known_hash(settings(tmp_path))
    assert known is not None
    assert [is_token(token, known) for token in tokens] == [False, True]


def test_command_for_postgresql_gives_the_line_for_the_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    url = "postgresql://me:secret@nowhere/db"
    assert operator_token.main(["--database", url], standalone_mode=False) == 0
    told = capsys.readouterr()
    token = told.out.strip()
    assert f'operator_token_hash = "{hash_of(token)}"' in told.err
    assert "secret" not in told.out + told.err
    file = tmp_path / "server.toml"
    file.write_text(told.err.split("\n", 1)[1], encoding="utf-8")
    assert known_hash(load_settings(file)) == hash_of(token)


def test_nothing_opens_where_no_token_was_made(tmp_path: Path) -> None:
    assert known_hash(settings(tmp_path)) is None
    assert known_hash(settings("")) is None
    (tmp_path / FILE).write_text("sha256:\n", encoding="ascii")
    assert known_hash(settings(tmp_path)) is None
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    assert known_hash(settings(tmp_path)) is None


def test_setting_wins_over_the_file(tmp_path: Path) -> None:
    keep(tmp_path, "other")
    assert known_hash(settings(tmp_path, operator_token_hash=HASH)) == HASH


@pytest.mark.parametrize("wrong", ["right", "sha256:12", HASH.upper(), f"{HASH}0"])
def test_setting_that_is_no_hash_is_refused(wrong: str) -> None:
    with pytest.raises(UserError, match="operator_token_hash"):
        settings("", operator_token_hash=wrong)


def test_tokens_are_long_and_differ() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 32 for token in tokens)
    assert not is_token("\ud800", HASH)


# -- how often


def test_one_address_has_a_few_tries_a_minute() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(MAX_OF_ONE):
        assert throttle.wait_s("10.0.0.1") == 0
        throttle.failed("10.0.0.1")
    assert throttle.wait_s("10.0.0.1") == WINDOW_S
    assert throttle.wait_s("10.0.0.2") == 0
    clock.now += WINDOW_S - 1
    assert throttle.wait_s("10.0.0.1") == 1
    clock.now += 1
    assert throttle.wait_s("10.0.0.1") == 0


def test_addresses_of_one_network_count_together_with_ipv6() -> None:
    throttle = Throttle(Clock())
    for at in range(MAX_OF_ONE):
        throttle.failed(f"2001:db8:1:2::{at}")
    assert throttle.wait_s("2001:db8:1:2:ffff::1")
    assert not throttle.wait_s("2001:db8:1:3::1")
    for _ in range(MAX_OF_ONE):
        throttle.failed("::ffff:10.0.0.1")
    assert throttle.wait_s("10.0.0.1")


def test_all_together_have_many_tries_a_minute() -> None:
    throttle = Throttle(Clock())
    for at in range(MAX_OF_ALL):
        assert not throttle.wait_s(f"address {at}")
        throttle.failed(f"address {at}")
    assert throttle.wait_s("one more")


def test_right_token_forgives_the_slips_before_it() -> None:
    throttle = Throttle(Clock())
    for _ in range(MAX_OF_ONE - 1):
        throttle.failed("one")
    throttle.failed("other")
    throttle.succeeded("one")
    for _ in range(MAX_OF_ONE - 1):
        throttle.failed("one")
        throttle.failed("other")
    assert not throttle.wait_s("one")
    assert throttle.wait_s("other")


# -- sessions


def test_session_ends_after_its_time_with_the_token_or_by_itself() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    cookie = sessions.open(HASH)
    assert sessions.find(cookie, HASH) is not None
    assert sessions.find("another", HASH) is None
    assert sessions.find(cookie, hash_of("new")) is None
    assert sessions.find(cookie, HASH) is None  # it does not come back
    cookie = sessions.open(HASH)
    sessions.close(cookie)
    sessions.close(cookie)
    assert sessions.find(cookie, HASH) is None
    cookie = sessions.open(HASH)
    clock.now += LASTS_S
    assert sessions.find(cookie, HASH) is None


def test_sessions_are_bounded() -> None:
    sessions = Sessions()
    cookies = [sessions.open(HASH) for _ in range(100)]
    good = [cookie for cookie in cookies if sessions.find(cookie, HASH)]
    assert good == cookies[-64:]


def test_mark_belongs_to_its_cookie() -> None:
    sessions = Sessions()
    mark = sessions.mark("one")
    assert sessions.is_mark(mark, "one")
    assert not sessions.is_mark(mark, "other")
    assert not sessions.is_mark("", "one")
    assert not sessions.is_mark("\ud800", "one")
    assert not Sessions().is_mark(mark, "one")  # another server's


def test_notices_are_shown_once_and_are_few() -> None:
    session = Session(HASH, 0)
    for at in range(20):
        session.tell(Notice(str(at)))
    assert [notice.text for notice in session.take_notices()] == [
        str(at) for at in range(20 - MAX_NOTICES, 20)
    ]
    assert session.take_notices() == []


# -- the page about it


def test_commands_and_links_of_the_page_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = Path(__file__).resolve().parent.parent.parent / "docs"
    text = (docs / "operator.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"croupier ([a-z-]+)", text))
    assert {"operator-token", "export"} <= commands
    for command in commands:
        monkeypatch.setattr(sys, "argv", ["croupier", command, "--help"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 0, capsys.readouterr().err
    links = re.findall(r"\]\(([\w.]+)(?:#[\w-]+)?\)", text)
    assert [link for link in links if not (docs / link).exists()] == []
