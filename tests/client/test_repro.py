"""Repro files: when they are written, what is in them, and a player run on them again."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from croupier_client.cli import main
from croupier_client.connection import Client
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target, load
from croupier_client.player import ActionLike, Player, View
from croupier_client.replay import BadRepro, Replay
from croupier_client.repro import Reproducer, file_name
from croupier_common.messages import EjectionParams, PlaceRequest
from croupier_common.notation import state_to_json
from croupier_common.state import State
from support.scripted import BOARD, COLORS, Peer, Script, fresh_game, serving_script

PLAYER = """
from croupier_client import Player

class Pingu(Player):
    def tournament_start(self, names):
        self.names = names
    def game_start(self, view):
        self.colour = view.you
    def place(self, view):
        assert self.names and self.colour is view.you
        {place}
    def move(self, view):
        return view.moves[0]
"""


class First(Player):
    seen: list[View]

    def __init__(self) -> None:
        type(self).seen = []

    def place(self, view: View) -> ActionLike:
        self.seen.append(view)
        return view.placements[0]

    def move(self, view: View) -> ActionLike:
        return view.moves[0]


class Fails(First):
    def place(self, view: View) -> ActionLike:
        super().place(view)
        raise ZeroDivisionError("as it was told to")


class Odd(First):
    def place(self, view: View) -> ActionLike:
        return "north"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


class Outside(First):
    def place(self, view: View) -> ActionLike:
        return 9, 9


class Unready(First):
    def game_start(self, view: View) -> None:
        raise KeyError("weights")


def one_turn(game_id: str = "1.1", verdict: str | None = None) -> Script:
    """A tournament of one game and one turn, after which the player may be put out."""

    async def script(peer: Peer) -> None:
        await peer.join()
        await peer.ask("start", "tournament_start", tournament="t", players=["Pingu", "white"])
        game = fresh_game(game_id)
        started = await peer.game_start(game_id)
        if "result" in started and game.request is not None:
            await peer.call_turn(game.request, weather="snow")
            await peer.receive()
        if verdict is not None:
            await peer.eject(game_id, verdict)
        else:
            await peer.end()

    return script


async def visit(
    script: Script, player: type[Player] | Target, folder: Path | None
) -> tuple[list[str], list[Path]]:
    """What the author was told, and which files there are."""
    target = player if isinstance(player, Target) else Target("Tester", player)
    warned: list[str] = []
    repro = None if folder is None else Reproducer(folder, "my player.py", warned.append)
    async with serving_script(script) as url:
        options = JoinOptions(name="Pingu", retry_s=0)
        client = Client(url, target, options, tell=lambda _: None, warn=warned.append, repro=repro)
        async with asyncio.timeout(20):
            await client.run()
    return warned, sorted((folder or Path()).glob("penguin-repro-*"))


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


async def test_exception_is_written_and_told(tmp_path: Path) -> None:
    warned, files = await visit(one_turn(), Fails, tmp_path / "here")

    assert [path.name for path in files] == ["penguin-repro-1.1-1.json"]
    value = read(files[0])
    assert value["what"] == "failed"
    assert value["detail"] == "ZeroDivisionError: as it was told to"
    assert "Traceback" in value["report"]
    assert value["request"]["id"] == "1.1:1"
    assert value["request"]["params"]["weather"] == "snow"
    assert value["game_start"]["params"]["game"] == "1.1"
    assert json.loads(value["answered"])["error"]["code"] == -32000
    assert value["verdict"] is None
    assert warned[-1] == (
        f"to run your player on that very request again:  penguin replay {files[0]} 'my player.py'"
    )
    assert list((tmp_path / "here").iterdir()) == files


async def test_verdict_is_added_and_told_of_once(tmp_path: Path) -> None:
    warned, files = await visit(one_turn(verdict="error_reply"), Fails, tmp_path)
    value = read(files[0])
    assert (value["what"], value["verdict"]["verdict"]) == ("failed", "error_reply")
    assert sum("penguin replay" in line for line in warned) == 1


async def test_answer_that_is_no_action(tmp_path: Path) -> None:
    _, files = await visit(one_turn(), Odd, tmp_path)
    assert "north" in read(files[0])["detail"]


async def test_illegal_action_is_written_when_the_server_says_so(tmp_path: Path) -> None:
    _, files = await visit(one_turn(verdict="illegal_action"), Outside, tmp_path)
    value = read(files[0])
    assert value["what"] == "ejected"
    assert json.loads(value["answered"])["result"] == [9, 9]
    assert value["verdict"]["verdict"] == "illegal_action"


async def test_failure_at_game_start(tmp_path: Path) -> None:
    _, files = await visit(one_turn(), Unready, tmp_path)
    assert [path.name for path in files] == ["penguin-repro-1.1-0.json"]
    outcome = await Replay.read(files[0]).run(Target("Unready", Unready), lambda _: None)
    assert not outcome.is_legal
    assert (await Replay.read(files[0]).run(Target("First", First), lambda _: None)).is_legal


async def test_nothing_is_written_when_all_is_well(tmp_path: Path) -> None:
    warned, files = await visit(one_turn(), First, tmp_path)
    assert (warned, files) == ([], [])


async def test_nothing_is_written_when_it_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    warned, files = await visit(one_turn(verdict="error_reply"), Fails, None)
    assert files == []
    assert not any("replay" in line for line in warned)


@pytest.mark.parametrize(
    "game_id", ["../../etc/x", "/etc/passwd", "a/b\\c", "..", "", "C:x", "a\nb", "é" * 500, "\0"]
)
async def test_ids_do_not_leave_the_folder(game_id: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    _, files = await visit(one_turn(game_id), Fails, folder)
    assert len(files) == 1
    assert files_below(tmp_path) == files
    assert len(files[0].name) < 120


def test_names_are_plain_where_ids_are_and_differ_where_they_do() -> None:
    assert file_name("1.1:9") == "penguin-repro-1.1-9.json"
    assert file_name("1.1-2:9") == "penguin-repro-1.1-2-9.json"
    assert file_name("a/b:1") != file_name("a\\b:1")
    assert file_name("x" * 90 + ":1") != file_name("x" * 91 + ":1")


async def test_folder_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    warned, _ = await visit(one_turn(), Fails, tmp_path / "file")
    assert warned[-1].startswith(f"can't write {tmp_path / 'file'}")


async def test_link_of_that_name_is_replaced(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    here = tmp_path / "here"
    here.mkdir()
    (here / "penguin-repro-1.1-1.json").symlink_to(precious)
    await visit(one_turn(), Fails, here)
    assert precious.read_text() == "mine"


def test_number_of_files_is_bounded(tmp_path: Path) -> None:
    repro = Reproducer(tmp_path, "x", lambda _: None)
    state = state_to_json(State.begin(BOARD, COLORS), whole=False)
    for number in range(300):
        game = f"g{number}"
        params: dict[str, Any] = {
            "game": game,
            "you": "red",
            "state": state,
            "events": [],
            "budget_ms": 1,
        }
        call = PlaceRequest.model_validate({"id": f"{game}:1", "params": params})
        repro.note(call, "{}")
        told = EjectionParams(
            game=game, verdict="timeout", phase="placement", detail="d", fix="f", link="l"
        )
        repro.ejected(told, lambda _: None)
    assert len(list(tmp_path.iterdir())) == 16
    assert len(repro._moments) == 128  # pyright: ignore[reportPrivateUsage]


# -- run again


def penguin(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert isinstance(done.value.code, int)
    return done.value.code


@pytest.fixture
def moment(tmp_path: Path) -> Path:
    """A file of a player that raised."""

    async def make() -> None:
        await visit(one_turn(verdict="error_reply"), Fails, tmp_path)

    asyncio.run(make())
    return tmp_path / "penguin-repro-1.1-1.json"


def write_player(folder: Path, place: str) -> str:
    path = folder / "pingu.py"
    path.write_text(PLAYER.format(place=place))
    return str(path)


def test_view_is_the_same_again(moment: Path) -> None:
    (then,) = Fails.seen
    asyncio.run(Replay.read(moment).run(Target("First", First), lambda _: None))
    assert First.seen == [then]
    assert First.seen[0].names == then.names


@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("raise IndexError('as before')", 3, "now it fails: IndexError: as before"),
        ("return 9, 9", 3, "[9,9] is outside the board of 4 rows and 3 columns"),
        ("return 'north'", 3, "now it fails: BadAnswer: it returned"),
        ("return view.placements[0]", 0, "that is legal"),
    ],
)
def test_replay(
    place: str, code: int, told: str, moment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert penguin("replay", str(moment), write_player(moment.parent, place)) == code
    said = capsys.readouterr()
    assert told in said.out
    assert "game 1.1, place: you are red" in said.out
    assert "/1\\" in said.out.replace(" ", "")
    assert "the server said   error_reply" in said.out
    assert ("IndexError" in said.err) == ("IndexError" in place)


def test_replay_in_a_process_shows_the_traceback(moment: Path) -> None:
    player = write_player(moment.parent, "return view.placements[99]")
    done = subprocess.run(
        [sys.executable, "-m", "croupier_client", "replay", str(moment), player],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "return view.placements[99]" in done.stderr
    assert "IndexError" in done.stderr


@pytest.mark.parametrize("rogue", ["illegal", "garbage", "silent", "crash", "vanish"])
def test_replay_of_rogues(rogue: str, moment: Path) -> None:
    assert penguin("replay", str(moment), f"rogue:{rogue}:1") == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("[]", "it has no 'penguin_repro'"),
        ('{"penguin_repro": 2}', "is of format 2, and this kit reads format 1"),
        ('{"penguin_repro": 1}', "no whole repro file"),
        ('{"penguin_repro": 1, "request": {"jsonrpc": "2.0", "id": 1}}', "no whole repro file"),
        ('{"penguin_repro": 1, "request": ' + "[" * 5000, "not JSON"),
    ],
)
def test_files_that_are_none(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert penguin("replay", str(path), "first") == 2
    assert told in capsys.readouterr().err


def test_parts_that_are_wrong(moment: Path) -> None:
    whole = read(moment)
    parts: Sequence[tuple[str, object]] = [
        ("request", whole["tournament_start"]),
        ("request", {**whole["request"], "params": {}}),
        ("game_start", whole["request"]),
        ("tournament_start", whole["request"]),
        ("game_start", {"method": "x"}),
    ]
    for name, value in parts:
        moment.write_text(json.dumps({**whole, name: value}))
        with pytest.raises(BadRepro):
            Replay.read(moment)
    state = {**whole["request"]["params"]["state"], "turn": "brown"}
    whole["request"]["params"]["state"] = state
    moment.write_text(json.dumps(whole))
    with pytest.raises(BadRepro, match="no whole repro file"):
        Replay.read(moment)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    assert penguin("replay", str(tmp_path / "none.json"), "first") == 2


def test_house_player_is_a_target_too(moment: Path) -> None:
    outcome = asyncio.run(Replay.read(moment).run(load("greedy"), lambda _: None))
    assert outcome.is_legal


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_device_without_an_end_is_refused() -> None:
    with pytest.raises(BadRepro, match="too large for a repro file"):
        Replay.read(Path("/dev/zero"))
