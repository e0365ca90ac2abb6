"""The conformance check: who passes it, who fails it where, and what it says."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree as ET

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

import check_doc
from croupier_client.check.hosts import Host, KitHost, NoPlayer, PortHost, ProgramHost
from croupier_client.check.report import (
    json_report,
    junit_report,
    result_lines,
    summary_lines,
)
from croupier_client.check.results import Findings, Log, Message, Result, Status
from croupier_client.check.runner import run_check
from croupier_client.check.steps import STEPS, chosen
from croupier_client.cli import main
from croupier_client.loader import Target, load
from croupier_client.player import ActionLike, Player, View
from croupier_common.programs import PATIENCE, Patience
from croupier_common.verdict import Verdict

STDIO_PLAYER = Path(__file__).parent.parent / "support" / "stdio_player.py"


def ignore(_: object) -> None:
    """Tell nobody."""


async def check(
    host: Host, log: Log, only: Sequence[str] = (), *, budget_ms: int = 2_000, limit_s: float = 40
) -> Findings:
    return await run_check(
        host, log, chosen(only), target="x", budget_ms=budget_ms, limit_s=limit_s, tell=ignore
    )


async def check_kit(target: Target, *only: str, **options: Any) -> Findings:
    log = Log()
    return await check(KitHost(target, log), log, only, **options)


def ended(findings: Findings, status: Status) -> list[str]:
    return [result.name for result in findings.results if result.status is status]


def named(findings: Findings, name: str) -> Result:
    return next(result for result in findings.results if result.name == name)


# -- players of the kit


async def test_house_players_pass() -> None:
    houses = [load(name) for name in ("first", "random:3", "greedy", "minimax:1")]
    for findings in await asyncio.gather(*(check_kit(house) for house in houses)):
        assert findings.passed
        assert ended(findings, Status.SKIP) == []
        assert set(ended(findings, Status.WARN)) <= {"same-position", "answers-in-time"}
        assert len(findings.results) == len(STEPS) > 40
        assert {"place", "move", "game_start"} < set(findings.times_ms)


@pytest.mark.parametrize(
    ("rogue", "step", "verdict"),
    [
        ("rogue:illegal", "ids", Verdict.ILLEGAL_ACTION),
        ("rogue:illegal:1", "game-start", Verdict.ILLEGAL_ACTION),
        ("rogue:garbage", "ids", Verdict.MALFORMED),
        ("rogue:garbage:0", "game-start", Verdict.MALFORMED),
        ("rogue:silent", "ids", Verdict.TIMEOUT),
        ("rogue:crash", "ids", Verdict.ERROR_REPLY),
        ("rogue:vanish", "ids", Verdict.DISCONNECTED),
        ("rogue:vanish:9", "board-with-holes", Verdict.DISCONNECTED),
    ],
)
async def test_rogue_fails(rogue: str, step: str, verdict: Verdict) -> None:
    findings = await check_kit(load(rogue), "joining", "messages", "boards", budget_ms=100)

    assert not findings.passed
    failed = ended(findings, Status.FAIL)
    assert failed[0] == step
    result = named(findings, step)
    assert result.verdict is verdict
    assert result.hint
    assert result.messages
    assert '"method":"' in next(m.text for m in result.messages if m.sender == "check")
    assert named(findings, "connects").status is Status.PASS


async def test_silence_is_not_waited_for_for_ever() -> None:
    findings = await check_kit(load("rogue:silent"), budget_ms=60)
    assert len(ended(findings, Status.FAIL)) == 4
    last = findings.results[-1]
    assert (last.status, last.told) == (Status.SKIP, "given up after 4 answers that did not come")


class First(Player):
    def place(self, view: View) -> ActionLike:
        return view.placements[0]

    def move(self, view: View) -> ActionLike:
        return view.moves[0]


class Remembers(First):
    """Keeps its own state instead of reading the one that it is sent."""

    def game_start(self, view: View) -> None:
        self.state = view.state
        self.turns = 0

    def move(self, view: View) -> ActionLike:
        self.turns += 1
        if self.turns == 1:
            self.old = view.moves[0]
        return self.old


class Late(First):
    def place(self, view: View) -> ActionLike:
        import time

        time.sleep(1.3 if view.board.rows == 6 else 0.0)
        return view.placements[0]


class Broken(First):
    def __init__(self) -> None:
        raise ValueError("no model")


class Raises(First):
    def game_start(self, view: View) -> None:
        raise KeyError("weights")


async def test_player_that_trusts_its_memory_fails() -> None:
    findings = await check_kit(Target("Remembers", Remembers), "boards", "games")
    assert "board-with-holes" in ended(findings, Status.FAIL)


async def test_traceback_is_shown_with_the_messages() -> None:
    findings = await check_kit(Target("Raises", Raises), "game-start")
    result = named(findings, "game-start")
    assert result.verdict is Verdict.ERROR_REPLY
    assert "KeyError: 'weights'" in "\n".join(result.notes)
    shown = "\n".join(result_lines(result, color=False, width=10))
    assert 'raise KeyError("weights")' in shown
    assert "error_reply" in shown


async def test_constructor_that_fails_is_the_first_step() -> None:
    findings = await check_kit(Target("Broken", Broken), "joining")
    assert ended(findings, Status.FAIL) == ["connects"]
    assert "no model" in named(findings, "connects").told
    assert named(findings, "game-start").told == "no player could be had"


async def test_late_answer_is_told_from_silence_and_the_check_goes_on() -> None:
    findings = await check_kit(
        Target("Late", Late), "board-with-holes", "two-games", "game-start", budget_ms=1_000
    )
    told = named(findings, "board-with-holes").told
    assert re.fullmatch(
        r"the answer to place came after 1\d{3} ms, and its budget is 1000 ms", told
    )


async def test_limit_of_time() -> None:
    findings = await check_kit(load("first"), "slow-start", "starts-anew", limit_s=0.3)
    assert [result.status for result in findings.results] == [Status.FAIL, Status.SKIP]
    assert "--limit" in findings.results[0].hint


# -- programs


def program(*arguments: str, patience: Patience = PATIENCE) -> ProgramHost:
    return ProgramHost([sys.executable, "-I", "-S", str(STDIO_PLAYER), *arguments], patience)


async def test_honest_program_passes() -> None:
    findings = await check(program("honest"), Log())
    assert findings.passed
    assert ended(findings, Status.WARN) == ["unknown-method"]
    assert set(ended(findings, Status.SKIP)) == {
        "join-name",
        "split-message",
        "pings",
        "games-at-once",
        "reconnects",
        "reconnects-while-asked",
        "same-answer-again",
        "refused",
    }


@pytest.mark.parametrize(
    ("habit", "verdict", "told"),
    [
        ("prints", Verdict.MALFORMED, "standard error"),
        ("crash", Verdict.DISCONNECTED, "ended with exit status 1"),
        ("foreign id", Verdict.TIMEOUT, "its reply has id"),
        ("oversize", Verdict.OVERSIZE, "a line of more than 65536 bytes"),
        ("latin", Verdict.MALFORMED, "not UTF-8"),
    ],
)
async def test_program_with_a_habit_fails(habit: str, verdict: Verdict, told: str) -> None:
    findings = await check(program(habit), Log(), ["board-with-holes"], budget_ms=1_000)
    result = findings.results[0]
    assert result.status is Status.FAIL
    assert result.verdict is verdict
    assert told in f"{result.told} {result.hint}"
    assert "binary" not in result.told


async def test_second_replies_are_a_warning() -> None:
    findings = await check(program("two replies"), Log(), ["board-with-holes"])
    assert findings.results[0].status is Status.WARN
    assert "replies a second time" in findings.results[0].told


async def test_program_that_does_not_end_fails() -> None:
    host = program("stubborn", patience=Patience(close_s=0.3, term_s=0.1))
    findings = await check(host, Log(), ["leaves"])
    assert ended(findings, Status.FAIL) == ["leaves"]


async def test_program_that_is_none() -> None:
    findings = await check(ProgramHost(["./there-is-none"]), Log(), ["joining"])
    assert "no such file" in named(findings, "connects").told


# -- clients of a port


class Client:
    """A WebSocket client of a few lines, that knows no rules; it comes as often as it can."""

    def __init__(self, host: PortHost, **join: object) -> None:
        self.host = host
        self.params = {"protocol": 1, "name": "Pingu", "legal_actions": True, **join}
        self.visits = 0

    async def run(self, visits: int) -> None:
        while self.visits < visits:
            try:
                async with connect(self.host.url, ping_interval=None) as socket:
                    self.visits += 1
                    await self.play(socket)
            except (ConnectionClosed, OSError):
                await asyncio.sleep(0.02)

    async def play(self, socket: ClientConnection) -> None:
        await self.send(socket, 1, method="join", params=self.params)
        async for text in socket:
            message = json.loads(text)
            if "method" in message and "id" in message:
                await self.answer(socket, message)

    async def answer(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        actions = message["params"].get("legal_actions")
        await self.send(socket, message["id"], result=actions[0] if actions else True)

    async def send(self, socket: ClientConnection, ident: object, **rest: object) -> None:
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": ident, **rest}))


class NumberIds(Client):
    async def answer(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        await self.send(socket, 7, result=True)


class AnswersAll(Client):
    """Replies to what has no id, too."""

    async def play(self, socket: ClientConnection) -> None:
        await self.send(socket, 1, method="join", params=self.params)
        async for text in socket:
            message = json.loads(text)
            if "id" in message and "method" in message:
                await self.answer(socket, message)
            elif message.get("method") == "game_end":
                await self.send(socket, "game over", result=True)


class Hears(Client):
    """Keeps what it is told, and how the connection was closed."""

    heard: ClassVar[list[object]] = []

    async def play(self, socket: ClientConnection) -> None:
        await self.send(socket, 1, method="join", params=self.params)
        with suppress(ConnectionClosed):
            while True:
                self.heard.append(json.loads(await socket.recv()))
        self.heard.append(socket.close_code)


class Big(Client):
    async def answer(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        await self.send(socket, message["id"], result=" " * 70_000)


class SpacedIds(Client):
    async def answer(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        await self.send(socket, message["id"] + " ", result=True)


class Chatty(Client):
    async def answer(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        await super().answer(socket, message)
        await self.send(socket, message["id"], result=True)


async def check_client(kind: type[Client], *only: str, visits: int = 9, **join: object) -> Findings:
    coming = asyncio.Event()

    def come_now(_: object) -> None:
        coming.set()

    host = PortHost(0, (), wait_s=5, again_s=0.5, tell=come_now)
    client = kind(host, **join)

    async def come() -> None:
        await coming.wait()
        await client.run(visits)

    task = asyncio.create_task(come())
    try:
        return await check(host, Log(), only, budget_ms=1_000)
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_client_that_comes_once_passes_what_needs_no_more() -> None:
    findings = await check_client(Client, visits=1)
    assert findings.passed
    assert ended(findings, Status.WARN) == ["unknown-method"]
    skipped = ended(findings, Status.SKIP)
    assert skipped == ["games-at-once", *(s.name for s in STEPS if s.group == "coming back")]
    assert "start it again" in named(findings, "ejected").told


async def test_client_that_comes_back_as_new_is_not_at_fault() -> None:
    findings = await check_client(Client, "reconnects", "starts-anew")
    told = named(findings, "reconnects")
    assert told.status is Status.SKIP
    assert "without its session" in told.told
    assert named(findings, "starts-anew").status is Status.PASS


async def test_ids_that_are_numbers_fail() -> None:
    findings = await check_client(NumberIds, "tournament-start")
    assert findings.results[0].verdict is Verdict.MALFORMED
    assert "id: Input should be a valid string" in findings.results[0].told


async def test_reply_to_a_notification_is_no_wrong_id() -> None:
    """A server drops it and goes on, so it is a warning; only sending it at all is the fault."""
    only = ("board-with-holes", "board-of-one-row", "game-end-unanswered")
    findings = await check_client(AnswersAll, *only)
    told = named(findings, "board-of-one-row")
    assert (told.status, told.verdict) == (Status.WARN, None)
    assert "it replies to 'game over', which nobody asked" in told.told
    unasked = named(findings, "game-end-unanswered")
    assert (unasked.status, unasked.verdict) == (Status.FAIL, None)
    assert "never reply to it" in unasked.hint


async def test_wrong_id_at_the_start_has_the_verdict_of_a_server() -> None:
    findings = await check_client(SpacedIds, "tournament-start")
    assert findings.results[0].verdict is Verdict.NO_START
    assert "its reply has id 'start '" in findings.results[0].told


async def test_message_that_is_too_large_has_the_verdict_of_a_server() -> None:
    findings = await check_client(Big, "tournament-start")
    assert findings.results[0].verdict is Verdict.OVERSIZE


async def test_client_that_may_not_join_is_told_as_a_server_tells_it() -> None:
    Hears.heard.clear()
    findings = await check_client(Hears, "joining", visits=1, protocol=2)
    told = named(findings, "join").told
    assert Hears.heard == [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": told, "data": None}},
        4001,
    ]


async def test_second_replies_of_a_client_are_a_warning() -> None:
    findings = await check_client(Chatty, "board-with-holes")
    assert findings.results[0].status is Status.WARN


@pytest.mark.parametrize(
    ("join", "step", "told"),
    [
        ({"protocol": 2}, "join", "protocol 2 is not spoken here"),
        ({"color": "red"}, "join", "params.color"),
        ({"name": " Pingu"}, "join-name", "would be refused"),
    ],
)
async def test_join_that_no_server_takes_fails(join: dict[str, Any], step: str, told: str) -> None:
    findings = await check_client(Client, "joining", **join)
    assert ended(findings, Status.FAIL)[0] == step
    assert told in named(findings, step).told


async def test_nobody_comes() -> None:
    host = PortHost(0, (), wait_s=0.1, again_s=0.1, tell=ignore)
    findings = await check(host, Log(), ["joining"])
    assert "no player connected to ws://" in named(findings, "connects").told


async def test_port_that_is_taken() -> None:
    first = PortHost(0, (), wait_s=1, again_s=1, tell=ignore)
    await first.open()
    try:
        with pytest.raises(NoPlayer, match="can't listen on port"):
            await PortHost(first.port, (), wait_s=1, again_s=1, tell=ignore).open()
    finally:
        await first.close()


# -- what is said


def some_findings() -> Findings:
    hostile = 'a "quoted" <b> & \x00\x1b[31m \ud800 é'
    results = [
        Result("one", "joining", "It is one.", Status.PASS, 3),
        Result("two", "joining", "It is two.", Status.WARN, 3, "odd", "do not"),
        Result("three", "coming back", "It is three.", Status.SKIP, 0, "not here"),
        Result(
            "four",
            "boards",
            "It is four.",
            Status.FAIL,
            3,
            hostile,
            "mend it",
            Verdict.MALFORMED,
            (Message("check", hostile), Message("player", hostile)),
            (f"Traceback:\n  {hostile}",),
        ),
    ]
    return Findings("x", 2_000, results, {"place": [1, 2, 900], "move": [5_000]}, 12)


def test_json_report() -> None:
    value = json.loads(json_report(some_findings()))
    assert value["passed"] is False
    assert value["counts"] == {"pass": 1, "warn": 1, "fail": 1, "skip": 1}
    assert [step["status"] for step in value["steps"]] == ["pass", "warn", "skip", "fail"]
    assert value["steps"][3]["messages"][1]["sender"] == "player"
    assert value["times_ms"]["place"] == {"answers": 3, "median": 2, "longest": 900, "total": 903}


def test_junit_report() -> None:
    suites = ET.fromstring(junit_report(some_findings()))
    suite = suites[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    assert [[part.tag for part in case] for case in suite] == [
        [],
        ["system-out"],
        ["skipped"],
        ["failure"],
    ]
    failure = suite[3][0]
    assert failure.get("type") == "malformed"
    assert "\x1b" not in (failure.text or "")


def test_text_has_no_control_characters_of_the_player() -> None:
    findings = some_findings()
    lines = [
        line for result in findings.results for line in result_lines(result, color=False, width=9)
    ]
    text = "\n".join([*lines, *summary_lines(findings)])
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "FAIL  four" in text
    assert "protocol.md#malformed" in text
    assert "longest 5000 ms" in text
    assert any("\x1b[" in line for line in result_lines(findings.results[0], color=True, width=9))


def penguin(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert isinstance(done.value.code, int)
    return done.value.code


def test_command_writes_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    only = ["--only", "joining"]
    assert penguin("check", "first", *only, "--json", "a.json", "--junit", "a.xml") == 0
    assert penguin("check", "rogue:crash:0", *only, "--json", "b.json", "--junit", "-") == 1
    assert json.loads(Path("a.json").read_text())["passed"] is True
    assert json.loads(Path("b.json").read_text())["counts"]["fail"] == 1
    ET.parse("a.xml")
    said = capsys.readouterr()
    assert "pass  game-start" in said.out
    assert "FAIL  game-start" in said.err
    ET.fromstring(said.out[said.out.index("<?xml") :])


def test_command_starts_a_client_for_each_visit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["-m", "croupier_client", "join", "{url}", "first", "--name", "P", "--repro", "off"]
    only = ["--only", "leaves", "--only", "ejected", "--only", "starts-anew"]
    code = penguin("check", "--port", "0", *only, "--", sys.executable, *command)
    assert code == 0, capsys.readouterr().out
    assert "0 failed, 0 skipped" in capsys.readouterr().out


def test_command_lists_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert penguin("check", "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [step.name for step in STEPS]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "say what is to be checked"),
        (["first", "--port", "0"], "say what is to be checked"),
        (["first", "--", "./x"], "either a TARGET"),
        (["--"], "no program behind --"),
        (["first", "--only", "nothing"], "no step 'nothing'"),
        (["frist"], "no module 'frist'"),
        (["first", "--json", "no/such/folder"], "No such file"),
        (["first", "--json", "-", "--junit", "-"], "only one of --json and --junit"),
    ],
)
def test_mistakes(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert penguin("check", *arguments) == 2
    assert told in capsys.readouterr().err


def test_steps_have_names_of_their_own_and_say_what_they_are_about() -> None:
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]+", name) for name in names)
    assert all(step.about.endswith(".") for step in STEPS)
    assert not {step.group for step in STEPS} & set(names)


def test_page_is_what_the_steps_say() -> None:
    assert check_doc.PATH.read_text(encoding="utf-8") == check_doc.page()
