"""The report for a student: whole in one file, true, and without what is hidden or hostile."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from croupier_common.verdict import Verdict
from croupier_server.grading.evidence import (
    Built,
    Checked,
    Evidence,
    Intake,
    Mishap,
    Placing,
    StepResult,
)
from croupier_server.grading.results.public_part import public_part
from croupier_server.grading.results.report_html import report_html
from croupier_server.grading.results.shown_text import text_block
from croupier_server.grading.results.worst_games import lead, worst_games
from croupier_server.grading.rubric import Rubric
from support.graded import (
    HIDDEN_GREEDY,
    HOSTILE,
    a_match,
    a_rubric,
    a_submission,
    graded_by,
    records_of,
)

TIMEOUT = Mishap(Verdict.TIMEOUT, "movement", "no answer within 2000 ms", Verdict.TIMEOUT.fix)
ILLEGAL = Mishap(Verdict.ILLEGAL_ACTION, "placement", "[0, 0] is a hole", "Place on a tile.")
MEMORY = Mishap(
    Verdict.DISCONNECTED, "movement", "it used more than 64 MiB", "Use less memory.", "memory"
)


def page_of(rubric: Rubric, evidence: Evidence, log: str = "") -> str:
    shown, known = public_part(rubric, evidence)
    return report_html(
        shown,
        known,
        records=records_of(known),
        log=log,
        isolation="in a sandbox",
        has_more=len(shown.lines) < len(rubric.lines),
    )


def text_of(page: str) -> str:
    """What a reader sees of a page."""
    body = page.partition("<body>")[2]
    without = re.sub(r"<(script|svg)\b.*?</\1>", "", body, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", without).split())


def test_report_says_grade_reasons_and_what_to_fix(tmp_path: Path) -> None:
    evidence = a_submission(
        "ada",
        player="Pingu",
        matches=[a_match("Pingu", "random", mishaps=[TIMEOUT, TIMEOUT, MEMORY])],
        failing=["ids"],
        built=Built("ok", "", "$ make\ncc -o player player.c\n", 1.0),
    )
    rubric = a_rubric(tmp_path)
    text = text_of(page_of(rubric, evidence, log="Traceback: oh no"))
    grade = graded_by(rubric, evidence).grade
    assert f"{grade.points:g} of 100 points" in text
    for line in grade.lines:
        assert line.title in text
        assert f"{line.points:g} of {line.of:g}" in text
    assert "timeout 2 games" in text
    assert "Game random.1.1, in movement: no answer within 2000 ms" in text
    assert Verdict.TIMEOUT.fix.replace("'", "&#39;") in text
    assert "protocol.md#timeout" in text
    assert "It crossed the limit of memory." in text
    assert "It said so. Mend it." in text
    assert "cc -o player player.c" in text
    assert "Traceback: oh no" in text
    assert "in a sandbox" in text
    assert "ada.zip" in text


def test_report_needs_nothing_but_itself(tmp_path: Path) -> None:
    page = page_of(a_rubric(tmp_path), a_submission("ada", matches=[a_match("ada", "random")]))
    assert not re.search(r"<(?:link|img|iframe|object)\b|\b(?:src|style|on\w+)=", page)
    assert not re.search(r'href="(?!#)', page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src &#39;none&#39;; ")
    assert "unsafe" not in policy[1]
    for tag, name in (('script type="module"', "script-src"), ("style", "style-src")):
        found = re.search(f"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL)
        assert found is not None
        told = b64encode(sha256(found[1].encode()).digest()).decode()
        assert f"{name} &#39;sha256-{told}&#39;;" in policy[1]


def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    bad = replace(TIMEOUT, detail=HOSTILE, fix=HOSTILE, phase=HOSTILE)
    match = replace(a_match(HOSTILE, "random", mishaps=[bad]), cut=HOSTILE)
    evidence = a_submission(
        "x", player=HOSTILE, matches=[match], built=Built("failed", HOSTILE, HOSTILE)
    )
    intake = replace(evidence.intake, source=HOSTILE, notes=(HOSTILE,), problem=HOSTILE)
    step = StepResult("ids", HOSTILE, HOSTILE, "fail", HOSTILE, HOSTILE)
    evidence = replace(evidence, intake=intake, checked=Checked((step,)))
    page = page_of(a_rubric(tmp_path), evidence, log=HOSTILE)
    assert page.count("<script") == 1 + page.count('<script type="application/json">')
    assert "<script>alert" not in page
    # the records of games have it as an escape
    assert "\u202e" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;?evil") >= 10


def test_steps_that_failed_alike_are_one_finding(tmp_path: Path) -> None:
    evidence = a_submission("ada", failing=["join", "ids"])
    page = page_of(a_rubric(tmp_path), evidence)
    assert page.count("Mend it.") == 1
    text = text_of(page)
    assert "2 steps failed It said so. Mend it. join : About join. ids : About ids." in text
    assert 'href="#check"' in page


def test_hidden_lines_leave_no_trace(tmp_path: Path) -> None:
    """Neither their titles nor their games, verdicts and points."""
    rubric = a_rubric(tmp_path, HIDDEN_GREEDY)
    matches = [
        a_match("ada", "random", mishaps=[ILLEGAL]),
        a_match("ada", "greedy", mishaps=[TIMEOUT, MEMORY]),
    ]
    evidence = a_submission("ada", matches=matches)
    page = page_of(rubric, evidence)
    for secret in ("greedy", "no answer within", "more than 64 MiB", "of 100", "Deduction"):
        assert secret not in page.partition("<body>")[2]
    shown = text_of(page)
    assert "of 60 points that are shown" in shown
    assert "The course also counts what it does not show" in shown
    without = replace(evidence, matches={"random": matches[0]})
    assert page == page_of(rubric, without)


def test_report_of_a_hidden_line_is_refused(tmp_path: Path) -> None:
    evidence = a_submission("ada")
    grade = graded_by(a_rubric(tmp_path, HIDDEN_GREEDY), evidence).grade
    with pytest.raises(ValueError, match="hidden line"):
        report_html(grade, evidence, records={}, log="", isolation="")


def test_hidden_steps_and_place_are_left_out(tmp_path: Path) -> None:
    text = """
title = "x"
[robin]
[[line]]
id = "a"
title = "a"
kind = "conformance"
steps = ["ids"]
points = 1
[[line]]
id = "b"
title = "b"
kind = "conformance"
steps = ["join"]
points = 1
public = false
[[line]]
id = "c"
title = "c"
kind = "place"
points = 1
public = false
"""
    evidence = a_submission("ada", failing=["ids", "join"], placing=Placing(2, 7, 0.5, 12))
    known = public_part(a_rubric(tmp_path, text), evidence)[1]
    assert known.checked is not None
    assert [step.step for step in known.checked.steps] == ["ids"]
    assert known.placing is None


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (
            Evidence(Intake("a", "a", "a.zip", "a.zip: ../x leads out of it")),
            "It was not graded a.zip: ../x leads out of it",
        ),
        (Evidence(Intake("a", "a", "a.zip"), Built("failed", "make: exit code 2")), "make: exit"),
        (
            Evidence(Intake("a", "a", "a.zip"), Built("none"), Checked((), "it never joined")),
            "it never joined",
        ),
    ],
    ids=["intake", "build", "check"],
)
def test_report_of_what_got_nowhere_says_why(evidence: Evidence, told: str, tmp_path: Path) -> None:
    text = text_of(page_of(a_rubric(tmp_path), evidence))
    assert told in text
    assert "of 100 points" in text
    assert "Thinking times" not in text
    assert "Games to learn from" not in text


def test_worst_games_are_those_by_verdict_and_then_the_biggest_defeats() -> None:
    match = a_match("ada", "random", 6, mishaps=[TIMEOUT, TIMEOUT, ILLEGAL])
    first, second, third = worst_games(a_submission("ada", matches=[match]))
    assert [first.mishap, second.mishap, third.mishap] == [TIMEOUT, ILLEGAL, TIMEOUT]
    plain = a_match("ada", "random", 6)
    shown = worst_games(a_submission("ada", matches=[plain]))
    leads = sorted(lead(game) for game in plain.games)
    assert [lead(game) for game in shown] == [found for found in leads[:3] if found < 0]


def test_games_without_a_defeat_or_a_record_are_not_shown() -> None:
    won = a_match("ada", "random", 1, mishaps=[TIMEOUT])
    blocks = tuple(
        replace(block, games=tuple(replace(game, record="") for game in block.games))
        for block in won.blocks
    )
    assert worst_games(a_submission("ada", matches=[replace(won, blocks=blocks)])) == []
    assert worst_games(a_submission("ada")) == []


def test_records_in_the_report_are_the_records(tmp_path: Path) -> None:
    evidence = a_submission("ada", matches=[a_match("ada", "random", 4)])
    page = page_of(a_rubric(tmp_path), evidence)
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    records = records_of(evidence)
    assert [json.loads(one) for one in found] == [
        records[game.game] for game in worst_games(evidence)
    ]
    assert found


def test_long_log_keeps_its_beginning_and_its_end() -> None:
    shown = text_block("\n".join(f"line {number}" for number in range(100_000)))
    assert shown.startswith("line 0\n")
    assert shown.endswith("line 99999")
    assert "99,600 lines are left out here" in shown
    assert len(text_block("x" * 10_000_000)) < 1_000


def test_terminal_colours_and_bidi_marks_are_harmless() -> None:
    assert text_block("\x1b[31mred\x1b[0m\ta\u202eb\x00\r\nnext\x07") == "red     a?b?\nnext?"
