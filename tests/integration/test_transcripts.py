"""The golden transcripts, played again: by their player before a real server, and by a real
server's lines before the kit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import transcript_table
import transcripts
from croupier_client.player import Player, View
from croupier_common.actions import Move, Placement
from croupier_common.messages import Join, parse_from_player, parse_from_server
from croupier_common.verdict import Verdict
from support.schemas import findings
from support.scripted import Peer, visit
from support.transcripts import HONEST, Line, be_server, read

# -- what there is


def test_files_are_those_of_the_scenes_and_begin_with_their_heads() -> None:
    assert {path.stem for path in transcripts.FOLDER.glob("*.jsonl")} == set(transcripts.SCENES)
    for name, scene in transcripts.SCENES.items():
        lines = read(name)
        assert lines[0] == scene.head()
        assert transcripts.text_of(lines) == (transcripts.FOLDER / f"{name}.jsonl").read_text(
            encoding="utf-8"
        )


def test_every_verdict_that_a_player_can_bring_about_has_one() -> None:
    wanted = {v for v in Verdict if v.is_fault and v.phases and v is not Verdict.NO_ROOM}
    shown = {name.partition("-")[0] for name in transcripts.SCENES}
    assert {verdict.value for verdict in wanted} <= shown
    for verdict in wanted:
        *_, told, closed = read(verdict.value)
        assert told["message"]["params"]["verdict"] == verdict.value
        assert closed == {"from": "close", "by": "server", "code": 4000, "reason": verdict.value}


def test_every_phase_and_kind_of_message_is_there() -> None:
    lines = [line for name in transcripts.SCENES for line in read(name)]
    methods = {line["message"].get("method") for line in lines if line["from"] == "server"}
    assert methods == {
        None,
        "tournament_start",
        "game_start",
        "place",
        "move",
        "events",
        "ejected",
        "game_end",
        "tournament_end",
    }
    assert '"kind": "skip"' in transcripts.text_of(read("whole"))
    assert '"kind": "eject"' in transcripts.text_of(read("others-out"))


def test_messages_are_what_models_and_schemas_say() -> None:
    for name in transcripts.SCENES:
        for line in read(name):
            if line["from"] == "server":
                parse_from_server(json.dumps(line["message"]))
                assert findings("server-message", line["message"]) == []
            elif "message" in line and name in HONEST:
                assert findings("player-message", line["message"]) == []


def test_readme_names_every_file() -> None:
    told = (transcripts.FOLDER / "README.md").read_text(encoding="utf-8")
    plain = {name for name in transcripts.SCENES if name.partition("-")[0] not in set(Verdict)}
    assert [name for name in plain if f"| `{name}` |" not in told] == []


# -- before a server


@pytest.mark.parametrize("name", transcripts.SCENES)
async def test_server_says_the_same_again(name: str) -> None:
    lines = read(name)
    assert await transcript_table.replay(lines) == lines


# -- before the kit


class First(Player):
    """Plays the first legal action."""

    def place(self, view: View) -> Placement:
        return view.placements[0]

    def move(self, view: View) -> Move:
        return view.moves[0]


@pytest.mark.parametrize("name", HONEST)
async def test_kit_says_the_same_again(name: str) -> None:
    lines = iter(read(name)[1:])

    async def script(peer: Peer) -> None:
        await be_server(peer, lines, compare)

    visited = await visit(script, First)
    assert next(lines, None) is None
    assert visited.ending.exit_code == 0, visited.ending


def compare(raw: str | bytes, wanted: Line) -> None:
    """A reply must be the same; a join has what the kit's own options say, and the session."""
    said = parse_from_player(raw)
    if not isinstance(said, Join):
        assert json.loads(raw) == wanted
        return
    params = json.loads(raw)["params"]
    for name in ("session", "last_event"):
        assert params.get(name) == wanted["params"].get(name)


# -- the tool


def test_check_names_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transcripts, "FOLDER", tmp_path)
    monkeypatch.setattr(
        transcripts, "SCENES", {name: transcripts.SCENES[name] for name in ("whole", "malformed")}
    )
    assert transcripts.main([]) == 0
    assert transcripts.main(["--check"]) == 0
    (tmp_path / "whole.jsonl").write_text("{}\n")
    (tmp_path / "old.jsonl").write_text("{}\n")
    assert transcripts.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "whole.jsonl is stale" in said
    assert "old.jsonl is stale" in said
    assert "malformed" not in said
