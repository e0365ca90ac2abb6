"""Verdicts: who is to blame, and words for each."""

from __future__ import annotations

from croupier_common.verdict import Fault, Phase, Verdict


def test_verdicts_that_blame_nobody_are_these() -> None:
    assert {verdict.value for verdict in Verdict if not verdict.is_fault} == {
        *("withdrawn", "disqualified", "absent", "void_server_fault", "interrupted"),
    }


def test_each_verdict_says_when_it_is_given_and_what_to_do_about_it() -> None:
    for verdict in Verdict:
        for told in (verdict.when, verdict.fix):
            assert told.endswith((".", ")"))
            assert "\n" not in told


def test_fault_tells_its_offender_all_and_no_more_than_400_characters_of_what_it_sent() -> None:
    fault = Fault(Verdict.MALFORMED, Phase.MOVEMENT, "no move", sent="x" * 500)
    assert fault.to_json() == {
        "verdict": "malformed",
        "phase": "movement",
        "detail": "no move",
        "fix": Verdict.MALFORMED.fix,
        "link": "protocol.md#malformed",
        "sent": "x" * 400,
    }
    assert "sent" not in Fault(Verdict.TIMEOUT, Phase.MOVEMENT, "late").to_json()
