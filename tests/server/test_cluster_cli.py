"""The commands of a cluster: their settings, and one clear line for what can't be."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from croupier_server import cli
from croupier_server.cluster.address import shown_nats
from croupier_server.cluster.serve_workers import marked, variables
from croupier_server.errors import UserError
from croupier_server.operations.logs import without_secrets
from croupier_server.settings import ClusterSettings, Settings, load_settings
from support.nats import has_nats
from support.needs import require

DATABASE = "postgresql://croupier:p4ssword@127.0.0.1:1/none"
NOWHERE = "nats://s3cret@127.0.0.1:1"
ROLES = ("gateway", "worker", "manager")


def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *command: str
) -> str:
    """The one line with which a command refuses to work."""
    monkeypatch.setattr(sys, "argv", ["croupier", *command])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    assert ended.value.code == 2, told
    assert told.out == ""
    assert told.err.startswith("croupier: ")
    assert told.err.count("\n") == 1
    return told.err


@pytest.mark.parametrize("role", ROLES)
def test_role_needs_a_database_for_several_processes(
    role: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(monkeypatch, capsys, role)
    assert "storage.url" in told
    assert "--database postgresql://" in told


@pytest.mark.parametrize("command", [*ROLES, "serve --workers 1", "web --nats nats://here"])
def test_missing_extra_is_told_with_how_to_get_it(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nats", None)  # as if it were not there
    told = refused(monkeypatch, capsys, *command.split(), "--database", DATABASE)
    assert "pip install 'croupier-server[cluster]'" in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--data", "here"], "storage.url: several processes write to one database"),
        (["--practice"], "run another `croupier serve --practice`"),
    ],
)
def test_what_needs_one_process_is_refused_with_a_way_out(
    options: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    database = [] if "--data" in options else ["--database", DATABASE]
    assert told in refused(monkeypatch, capsys, "serve", "--workers", "2", *database, *options)


def test_no_workers_are_no_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--workers" in refused(monkeypatch, capsys, "serve", "--workers", "0")


def test_nats_that_is_not_there_is_named_without_its_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require("nats", has_nats(), "the extra [cluster] is not installed")
    monkeypatch.setattr("croupier_server.cluster.link._OPEN_S", 0.2)
    told = refused(monkeypatch, capsys, "worker", "--nats", NOWHERE, "--database", DATABASE)
    assert "nats://127.0.0.1:1" in told
    assert "s3cret" not in told
    assert "p4ssword" not in told


# -- settings


def test_nats_can_be_several_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = ("nats://a:4222", "tls://t0ken@b:4222")
    path = tmp_path / "croupier.toml"
    path.write_text(f"[cluster]\nnats = {list(several)}\n", encoding="utf-8")
    assert load_settings(path).cluster.nats == several
    monkeypatch.setenv("CROUPIER_CLUSTER__NATS", ", ".join(several))
    settings = load_settings()
    assert settings.cluster.nats == several
    assert settings.cluster.is_named
    assert shown_nats(settings.cluster.nats) == "nats://a:4222, tls://b:4222"
    assert "t0ken" not in repr(settings)


def test_nats_is_on_this_machine_unless_it_is_said() -> None:
    settings = load_settings()
    assert settings.cluster.nats == ("nats://127.0.0.1:4222",)
    assert not settings.cluster.is_named


@pytest.mark.parametrize(
    "url",
    ["http://t0ken@host", "t0ken@host:4222", "nats://t0ken@host:99999", "nats://t0ken@", "", ","],
)
def test_wrong_nats_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(UserError, match=r"^command line: cluster\.nats: .*nats://HOST:PORT") as bad:
        load_settings(None, {"cluster": {"nats": url}})
    assert "t0ken" not in str(bad.value)


def test_token_of_nats_is_hidden_in_logs() -> None:
    event = {"event": "lost nats://t0ken@a:4222", "to": "tls://croupier:t0ken@b:4222"}
    assert "t0ken" not in str(without_secrets(None, "", dict(event)))


def test_wrong_database_is_not_quoted() -> None:
    with pytest.raises(UserError, match=r"storage\.url: ") as bad:
        load_settings(None, {"storage": {"url": "mysql://croupier:p4ssword@host/name"}})
    assert "p4ssword" not in str(bad.value)


@pytest.mark.parametrize("name", ["two words", "a.b", "", "*", "a>"])
def test_name_of_a_cluster_fits_into_a_subject(name: str) -> None:
    with pytest.raises(UserError, match=r"cluster\.name"):
        load_settings(None, {"cluster": {"name": name}})


# -- the page about it

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "cluster.md").read_text("utf-8")
COMMAND = re.compile(r"(?:^|`)(croupier(?: [^`\n]+))(?:$|`)", re.MULTILINE)


@pytest.mark.parametrize("command", sorted(set(COMMAND.findall(PAGE))))
def test_commands_of_the_page_exist_with_their_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = command.split()
    if given[-1] in {"--workers", "--games"}:  # named without a value
        given.append("1")
    monkeypatch.setattr(sys, "argv", [*given, "--help"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0, capsys.readouterr().err


def test_settings_of_the_page_have_their_defaults() -> None:
    for name, field in ClusterSettings.model_fields.items():
        default = field.examples[0] if field.examples else field.default
        shown = default if isinstance(default, int) else f"`{default}`"
        assert f"| `cluster.{name}` | {shown} |" in PAGE


# -- what the children of `serve --workers` are told


def test_children_have_the_settings_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those win over the file and over our own variables, as in one process."""
    path = tmp_path / "croupier.toml"
    path.write_text("[game]\nboard = '6x6'\n[lobby]\nmin_players = 3\n[web]\nmax_viewers = 7\n")
    monkeypatch.setenv("CROUPIER_TOURNAMENT__SEED", "1")
    given: Mapping[str, Mapping[str, object]] = {
        "game": {"board": "5x5,holes=2", "rules": "classic"},
        "tournament": {"name": "friday", "seed": 2, "games_at_once": None},
        "records": {"folder": tmp_path / "records"},
        "storage": {"url": DATABASE},
        "web": {"port": 0},
        "practice": {"enabled": None},
    }
    settings = load_settings(path, given)
    for name, value in variables(settings, given, NOWHERE).items():
        monkeypatch.setenv(name, value)
    theirs = load_settings(path)
    assert parts(theirs) == parts(settings)
    assert theirs.cluster.nats == (NOWHERE,)
    assert load_settings().web == settings.web  # the pages are told without the file


def parts(settings: Settings) -> list[tuple[str, object]]:
    return [(name, value) for name, value in settings if name != "cluster"]


def test_lines_of_children_are_marked_in_either_form() -> None:
    assert marked("worker 1", "something is wrong") == "worker 1: something is wrong"
    assert marked("worker 1", '{"time": "now"}') == '{"process": "worker 1", "time": "now"}'
