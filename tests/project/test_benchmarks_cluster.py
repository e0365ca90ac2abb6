"""The cluster's benchmarks run, and say what they should; what they measure here means nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.databases import require_postgresql
from support.nats import has_nats
from support.needs import require

ROOT = Path(__file__).resolve().parent.parent.parent


def part(name: str, folder: Path) -> dict[str, Any]:
    """Measure one part; gives what it wrote as JSON."""
    require_postgresql()
    require("nats", has_nats(), "the extra [cluster] is not installed")
    file = folder / "found.json"
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--size", "tiny", "--json", str(file), name],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert f"== {name}\n" in ended.stdout
    measured: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["parts"][name]
    return measured


@pytest.mark.full
def test_cluster_is_measured_against_one_process(tmp_path: Path) -> None:
    figures = part("cluster", tmp_path)["figures"]
    assert figures["2 one process to one process"] == 1
    assert {"2 cluster to one process", "2 cluster asked p50 ms"} <= figures.keys()
    assert {f"2 cluster {role} us a turn" for role in ("gateway", "worker")} <= figures.keys()


@pytest.mark.full
def test_idle_players_get_no_verdict(tmp_path: Path) -> None:
    measured = part("cluster-idle", tmp_path)
    found = {budget["what"]: budget for budget in measured["budgets"]}
    assert found["false verdicts"]["value"] == 0
    assert measured["figures"]["players"] == 40


@pytest.mark.full
def test_simulated_workers_decide_all_games(tmp_path: Path) -> None:
    figures = part("cluster-sim", tmp_path)["figures"]
    for name in ("round-robin", "swiss", "ladder"):
        assert figures[f"{name} manager us a game"] > figures[f"{name} fair queue us a game"]


def test_cluster_without_a_database_says_what_it_needs() -> None:
    env = {name: value for name, value in os.environ.items() if name != "CROUPIER_POSTGRESQL"}
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--size", "tiny", "cluster-sim"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=env,
        timeout=50,
        check=False,
    )
    assert ended.returncode == 1
    assert "set CROUPIER_POSTGRESQL to the URL of a server" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
