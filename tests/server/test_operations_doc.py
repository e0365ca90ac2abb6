"""The page for operators names every metric, and none that there is not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from croupier_server import cli
from croupier_server.operations.metrics import Metrics
from croupier_server.operations.tally import Gauges, Tally
from croupier_server.settings import OperationsSettings

PAGE = (Path(__file__).parent.parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")
COMMANDS = {
    " ".join(command.split())
    for command in [
        *re.findall(r"`(croupier\s[^`]+)`", PAGE),
        *re.findall(r"^(croupier [^\n]+)", PAGE, re.MULTILINE),
    ]
}


async def families() -> dict[str, str]:
    """Our metrics by the names in queries, with their types."""
    text, _ = await Metrics(Tally(), Gauges).text()
    found = text_string_to_metric_families(text.decode())
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: family.type
        for family in found
        if family.name.startswith("croupier_")
    }


async def test_table_has_each_metric_once() -> None:
    listed = re.findall(r"^\| `(croupier_\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(await families())


async def test_alarms_are_about_metrics_that_there_are() -> None:
    known = set[str]()
    for name, kind in (await families()).items():
        known |= {f"{name}_bucket", f"{name}_sum"} if kind == "histogram" else {name}
    asked = set(re.findall(r"croupier_\w+", PAGE.partition("A sensible set")[2]))
    assert asked <= known


def test_settings_stand_there() -> None:
    for name in OperationsSettings.model_fields:
        assert re.search(rf"^{name} = ", PAGE, re.MULTILINE)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_command_exists_with_its_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # with --help, the options are checked and then nothing is done
    monkeypatch.setattr(sys, "argv", [*command.split(), "--help"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
