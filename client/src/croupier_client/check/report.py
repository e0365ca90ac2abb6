"""What a check found, as text, as JSON, or as JUnit's XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final
from xml.etree import ElementTree as ET

from croupier_client import __version__
from croupier_client.check.results import Findings, Result, Status
from croupier_common.render import printable

__all__ = ["json_report", "junit_report", "result_lines", "summary_lines"]

_BUCKETS_MS: Final = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
_BAR: Final = 40
_SHOWN: Final = 2
_MESSAGE: Final = 500
_NOTE: Final = 200
_NOTE_LINES: Final = 15
_COLORS: Final = {Status.PASS: "32", Status.WARN: "33", Status.FAIL: "1;31", Status.SKIP: "2"}
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def result_lines(result: Result, *, color: bool, width: int) -> Iterator[str]:
    """A result as lines of text.

    Args:
        color: with ANSI colours, for a terminal.
        width: of the longest name of a step.
    """
    word = result.status.value.upper() if result.status is Status.FAIL else result.status.value
    word = f"{word:<4}"
    if color:
        word = f"\x1b[{_COLORS[result.status]}m{word}\x1b[0m"
    if result.status is Status.SKIP:
        yield f"{word}  {result.name:<{width}}  {printable(result.told, 300)}"
        return
    yield f"{word}  {result.name:<{width}}  {result.about}"
    if result.told:
        yield f"      {printable(result.told, 600)}"
    if result.verdict is not None:
        yield f"      a server would say: {result.verdict} (protocol.md#{result.verdict})"
    if result.hint:
        yield f"      what to do: {result.hint}"
    if result.status is not Status.FAIL:
        return
    for message in result.messages[-_SHOWN:]:
        who = "sent" if message.sender == "check" else "got"
        yield f"      {who:<4}  {printable(message.text, _MESSAGE)}"
    for note in result.notes:
        for line in note.splitlines()[:_NOTE_LINES]:
            yield f"      |  {printable(line, _NOTE)}"


def summary_lines(findings: Findings) -> Iterator[str]:
    """The end of the text: how many steps ended how, and how long the answers took."""
    counts = ", ".join(
        f"{findings.count(status)} {word}"
        for status, word in (
            (Status.PASS, "passed"),
            (Status.WARN, "warned"),
            (Status.FAIL, "failed"),
            (Status.SKIP, "skipped"),
        )
    )
    yield f"{len(findings.results)} steps in {findings.took_ms / 1000:.1f} s: {counts}"
    turns = [*findings.times_ms.get("place", ()), *findings.times_ms.get("move", ())]
    if turns:
        yield ""
        yield (
            f"{len(turns)} answers to place and move, of {findings.budget_ms} ms each: "
            f"median {median(turns):g} ms, longest {max(turns)} ms"
        )
        yield from _histogram(turns)


def _histogram(times_ms: Sequence[int]) -> Iterator[str]:
    counts = [0] * (len(_BUCKETS_MS) + 1)
    for took in times_ms:
        counts[sum(took >= limit for limit in _BUCKETS_MS)] += 1
    last = max(at for at, count in enumerate(counts) if count)
    for at, count in enumerate(counts[: last + 1]):
        label = f"< {_BUCKETS_MS[at]:,} ms" if at < len(_BUCKETS_MS) else "more"
        bar = "#" * -(-count * _BAR // max(counts))
        yield f"  {label:>11}  {count:>5}  {bar}".rstrip()


def json_report(findings: Findings) -> str:
    """All that was found, as JSON."""
    report = {
        "kit": __version__,
        "target": findings.target,
        "budget_ms": findings.budget_ms,
        "took_ms": findings.took_ms,
        "passed": findings.passed,
        "counts": {status.value: findings.count(status) for status in Status},
        "times_ms": {
            method: {
                "answers": len(times),
                "median": median(times),
                "longest": max(times),
                "total": sum(times),
            }
            for method, times in findings.times_ms.items()
        },
        "steps": [result.to_json() for result in findings.results],
    }
    return json.dumps(report, indent=2) + "\n"


def junit_report(findings: Findings) -> str:
    """All that was found, as JUnit's XML; a warning is a passed case that says something."""
    counts = {
        "tests": len(findings.results),
        "failures": findings.count(Status.FAIL),
        "skipped": findings.count(Status.SKIP),
    }
    suite = ET.Element(
        "testsuite",
        {
            "name": _xml(f"penguin check {findings.target}"),
            "errors": "0",
            "time": f"{findings.took_ms / 1000:.3f}",
            **{name: str(count) for name, count in counts.items()},
        },
    )
    for result in findings.results:
        case = ET.SubElement(
            suite,
            "testcase",
            {
                "classname": f"penguin.check.{result.group.replace(' ', '_')}",
                "name": result.name,
                "time": f"{result.took_ms / 1000:.3f}",
            },
        )
        if result.status is Status.SKIP:
            ET.SubElement(case, "skipped", {"message": _xml(result.told)})
        elif result.status is Status.FAIL:
            kind = "check" if result.verdict is None else result.verdict.value
            failure = ET.SubElement(case, "failure", {"message": _xml(result.told), "type": kind})
            failure.text = _xml(_details(result))
        elif result.status is Status.WARN:
            ET.SubElement(case, "system-out").text = _xml(f"warning: {result.told}\n{result.hint}")
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _details(result: Result) -> str:
    lines = [result.about, f"what to do: {result.hint}" if result.hint else ""]
    lines += [f"{message.sender}: {message.text}" for message in result.messages]
    lines += result.notes
    return "\n".join(line for line in lines if line)


def _xml(text: str) -> str:
    return _NOT_XML.sub("?", text)
