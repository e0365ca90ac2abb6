"""The benchmarks run, and say what they should; what they measure at this size means nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=50,
        check=False,
    )


def part(name: str, folder: Path) -> dict[str, Any]:
    """Measure one part; gives what it wrote as JSON."""
    ended = bench("--size", "tiny", "--json", str(folder / "found.json"), name)
    assert ended.returncode == 0, ended.stderr
    assert f"== {name}" in ended.stdout
    assert "budget: " in ended.stdout
    found: dict[str, Any] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert list(found["parts"]) == [name]
    assert found["machine"]["python"] in ended.stdout
    measured: dict[str, Any] = found["parts"][name]
    assert all(figure > 0 for figure in measured["figures"].values())
    return measured


def test_rules_are_measured_against_the_bitboard(tmp_path: Path) -> None:
    figures = part("rules", tmp_path)["figures"]
    assert figures["perft bitboard to bitboard"] == 1
    assert {"perft kernel to bitboard", "playouts public API per s"} <= figures.keys()


def test_turns_are_measured_against_the_bare_loop(tmp_path: Path) -> None:
    measured = part("turns", tmp_path)
    assert measured["figures"]["2 bare loop to bare"] == 1
    assert measured["figures"]["2 croupier, journal server us"] > 0
    assert [budget.get("at_least") for budget in measured["budgets"]] == [0.5, 0.35, 0.65, None]


def test_start_of_commands_is_measured(tmp_path: Path) -> None:
    assert "croupier --help s" in part("startup", tmp_path)["figures"]


def test_viewers_are_measured_beside_games_that_nobody_watches(tmp_path: Path) -> None:
    measured = part("viewers", tmp_path)
    assert measured["figures"]["viewers"] == 20
    assert [budget["what"][:4] for budget in measured["budgets"]] == ["p99 ", "most", "turn"]


def test_pages_are_measured_and_are_light(tmp_path: Path) -> None:
    measured = part("pages", tmp_path)
    found = {budget["what"].partition(",")[0]: budget for budget in measured["budgets"]}
    assert found["game page"]["reached"]
    assert measured["figures"]["tiles in its first response"] == 60
    assert found["longest hold of the loop"]["at_most"] == 5


def test_grading_is_measured_beside_the_games_that_it_plays(tmp_path: Path) -> None:
    measured = part("grading", tmp_path)
    assert measured["budgets"][0]["what"] == "a block, seconds"
    assert measured["figures"]["own share"] > 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["speed"],
            "there are rules, turns, crowd, journal, startup, standings, viewers, pages, grading",
        ),
        (["--fast"], "unrecognized arguments: --fast"),
        (["--json", "no/such/folder/found.json"], "found.json: "),
    ],
)
def test_bad_option_gives_one_line(arguments: list[str], complaint: str) -> None:
    ended = bench(*arguments)
    assert ended.returncode == 2
    assert complaint in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not ended.stdout
