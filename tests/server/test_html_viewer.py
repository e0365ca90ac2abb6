"""The replay as one file: whole, harmless, and written only from records that hold."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from croupier_common.board_spec import BoardSpec
from croupier_server.errors import UserError
from croupier_server.html_viewer import MODULES, STYLES, WEB, viewer_html
from croupier_server.records_cli import show
from support.recorded import recorded

HOSTILE = ("</script><script>alert(1)</script>", "<!--<script>")
RECORD = "".join(recorded(1, BoardSpec.from_text("4x4"), 2, names=HOSTILE))


def run(*args: object) -> int:
    code: int = show.main([str(one) for one in args], standalone_mode=False)
    return code


def test_file_has_all_that_it_needs() -> None:
    page = viewer_html("1.1.jsonl", RECORD)
    assert not re.search(r"\b(?:src|href)=\"(?:https?:)?//", page)
    assert not re.search(r"<(?:link|img|iframe)\b", page)
    assert "import {" not in page.partition('<script type="module">')[2]
    assert len(page) < 150_000


def test_record_in_the_file_is_the_record() -> None:
    page = viewer_html("1.1.jsonl", RECORD)
    found = re.search(r'id="record-text">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == {"name": "1.1.jsonl", "text": RECORD}
    assert page.count("<script") == 2


def test_policy_allows_this_script_and_style_alone() -> None:
    page = viewer_html("1.1.jsonl", RECORD)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag, name in (('script type="module"', "script-src"), ("style", "style-src")):
        found = re.search(f"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL)
        assert found is not None
        told = b64encode(sha256(found[1].encode()).digest()).decode()
        assert f"{name} &#39;sha256-{told}&#39;;" in policy[1]
    assert "unsafe" not in policy[1]


def test_hostile_name_of_the_file_is_text() -> None:
    assert "<b>" not in viewer_html("<b>\u202e.jsonl", RECORD)


def test_modules_are_those_that_are_imported() -> None:
    """In an order in which each comes after what it imports."""
    for at, name in enumerate(MODULES):
        source = (WEB / "static" / f"{name}.js").read_text(encoding="utf-8")
        imported = re.findall(r'from "\./(\w+)\.js"', source)
        assert set(imported) <= set(MODULES[:at]), name
    assert all((WEB / "static" / f"{name}.css").exists() for name in STYLES)


def test_show_writes_the_file_beside_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "1.1.jsonl"
    record.write_text(RECORD, encoding="utf-8")
    assert run("--html", record) == 0
    page = tmp_path / "1.1.html"
    assert capsys.readouterr().out == f"{page}: open it in a browser\n"
    assert page.read_text(encoding="utf-8") == viewer_html("1.1.jsonl", RECORD)
    assert run("--html", record, "--output", tmp_path / "other.html") == 0
    assert (tmp_path / "other.html").exists()


@pytest.mark.parametrize("text", [RECORD[:-9], RECORD.replace("1", "2", 1)], ids=["cut", "changed"])
def test_show_writes_nothing_of_a_damaged_record(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "1.1.jsonl"
    record.write_text(text, encoding="utf-8")
    assert run("--html", record) == 1
    assert "DAMAGED" in capsys.readouterr().err
    assert not (tmp_path / "1.1.html").exists()


def test_show_refuses_what_does_not_go_together(tmp_path: Path) -> None:
    record = tmp_path / "1.1.html"
    record.write_text(RECORD, encoding="utf-8")
    with pytest.raises(UserError, match="is the record itself"):
        run("--html", record)
    with pytest.raises(UserError, match="--output says where"):
        run(record, "--output", tmp_path / "x.html")
    with pytest.raises(UserError, match="--html has all plies"):
        run("--html", "--ply", 1, record)
    with pytest.raises(UserError, match="No such file"):
        run("--html", record, "--output", tmp_path / "no" / "x.html")
    assert record.read_text(encoding="utf-8") == RECORD
