"""What watches over the cluster of the compose file: health checks, Prometheus, the dashboard."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from croupier_server.operations.health import Health, PhaseName
from croupier_server.operations.metrics import Metrics
from croupier_server.operations.port import OperationsPort
from croupier_server.operations.tally import Gauges, Tally
from croupier_server.settings import OperationsSettings
from support.compose import ROOT, mounts, read_compose
from support.needs import require

DOCKER = ROOT / "docker"
ROLES = ("gateway", "worker", "manager", "web")
METRIC = re.compile(r"\b(?:croupier|process|python)_\w+|\bup\b")

WANTED = {
    "croupier_connections",
    "croupier_games_running",
    "croupier_games_waiting",
    "croupier_loop_lag_seconds_bucket",
    "croupier_store_commit_seconds_bucket",
    "croupier_think_seconds_bucket",
    "croupier_turn_overhead_seconds_bucket",
    "croupier_turns_total",
    "croupier_verdicts_total",
}


def read_yaml(path: Path) -> Any:
    loader: Any = YAML(typ="safe")
    return loader.load(path.read_text(encoding="utf-8"))


def services() -> dict[str, Any]:
    found: dict[str, Any] = read_compose()["services"]
    return found


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (DOCKER / "grafana" / "croupier.json").read_text(encoding="utf-8")
    )
    return found


def dashboard_expressions() -> Iterator[str]:
    return (target["expr"] for panel in dashboard()["panels"] for target in panel["targets"])


def alarm_expressions() -> Iterator[str]:
    groups = read_yaml(DOCKER / "alarms.yml")["groups"]
    return (rule["expr"] for group in groups for rule in group["rules"])


async def known_metrics() -> set[str]:
    """The names that a query can have, as a process tells them."""
    text, _ = await Metrics(Tally(), Gauges).text()
    names = {"up"}
    for family in text_string_to_metric_families(text.decode()):
        names |= {
            "counter": {f"{family.name}_total"},
            "histogram": {f"{family.name}_{end}" for end in ("bucket", "sum", "count")},
        }.get(family.type, {family.name})
    return names


async def test_queries_are_about_metrics_that_there_are() -> None:
    require("linux", sys.platform == "linux", "the metrics of a process")
    known = await known_metrics()
    for expression in (*dashboard_expressions(), *alarm_expressions()):
        asked = set(METRIC.findall(expression))
        assert asked, expression
        assert asked <= known, expression


def test_dashboard_shows_what_an_operator_asks_for() -> None:
    text = "\n".join(dashboard_expressions())
    assert set(METRIC.findall(text)) >= WANTED
    assert "by (job" in text  # by role


def test_dashboard_can_be_loaded_as_it_is_provisioned() -> None:
    source = read_yaml(DOCKER / "grafana" / "datasource.yml")["datasources"][0]
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert {panel["datasource"]["uid"]} == {source["uid"]}
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {source["uid"]}
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    [provider] = read_yaml(DOCKER / "grafana" / "dashboards.yml")["providers"]
    mounted = mounts(services()["grafana"], ROOT)
    assert Path(provider["options"]["path"]) in {Path(path).parent for path in mounted}
    assert source["url"] == "http://prometheus:9090"


def test_no_two_panels_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        own = {(at["x"] + x, at["y"] + y) for x in range(int(at["w"])) for y in range(int(at["h"]))}
        assert not cells & own, panel["title"]
        cells |= own


def test_prometheus_asks_every_role_at_the_port_that_it_opens() -> None:
    jobs = read_yaml(DOCKER / "prometheus.yml")["scrape_configs"]
    assert [job["job_name"] for job in jobs] == list(ROLES)
    for job in jobs:
        [found] = job["dns_sd_configs"]
        assert found["names"] == [job["job_name"]]
        assert found["type"] == "A"
        environment = services()[job["job_name"]]["environment"]
        assert str(found["port"]) == environment["CROUPIER_OPERATIONS__PORT"]
        assert environment["CROUPIER_OPERATIONS__HOST"] == "0.0.0.0"


def test_prometheus_and_its_alarms_are_where_they_are_looked_for() -> None:
    mounted = mounts(services()["prometheus"], ROOT)
    rules = read_yaml(DOCKER / "prometheus.yml")["rule_files"]
    assert set(mounted) == {"/etc/prometheus/prometheus.yml", *rules}
    assert f"--config.file={next(iter(mounted))}" in services()["prometheus"]["command"]


async def checked(role: str, port: int) -> int:
    """Run the health check of a role, against a port of this machine; its exit code."""
    spec = services()[role]
    kind, program, *arguments = spec["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    opened = spec["environment"]["CROUPIER_OPERATIONS__PORT"]
    here = [argument.replace(f":{opened}/", f":{port}/") for argument in arguments]
    assert here != arguments
    null = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(sys.executable, *here, stderr=null)
    return await process.wait()


@pytest.mark.parametrize(("phase", "code"), [("serving", 0), ("draining", 1), ("starting", 1)])
async def test_health_check_tells_whether_a_role_is_ready(phase: PhaseName, code: int) -> None:
    health = Health()
    health.phase = phase
    port = OperationsPort(OperationsSettings(port=0), Metrics(Tally(), Gauges), health)
    await port.start()
    try:
        assert await checked("worker", port.port) == code
    finally:
        await port.stop()


async def test_health_check_fails_without_an_answer() -> None:
    port = OperationsPort(OperationsSettings(port=0), Metrics(Tally(), Gauges), Health())
    await port.start()
    await port.stop()
    assert await checked("gateway", port.port) == 1


def test_every_service_of_the_cluster_has_a_health_check() -> None:
    for name, spec in services().items():
        if "profiles" in spec:  # a player, which is no server
            continue
        check = spec["healthcheck"]
        assert check["test"][0] == "CMD", name
        assert {"interval", "timeout", "start_period"} <= check.keys(), name
    assert {str(services()[role]["healthcheck"]) for role in ROLES} == {
        str(services()["worker"]["healthcheck"])
    }
