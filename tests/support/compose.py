"""The compose files: what each service runs, and how to run the same on this machine.

``launch("gateway", {"nats": ..., "postgres": ...})`` gives the very command and environment of a
service, with addresses of this machine: URLs by their host, ports that are free, and files from
where they are mounted.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from croupier_common.jsontypes import is_array, is_object

__all__ = [
    "CLUSTER",
    "ROOT",
    "SMALL",
    "VALUES",
    "Launch",
    "free_ports",
    "interpolated",
    "launch",
    "mounts",
    "program",
    "read_compose",
]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
CLUSTER: Final = ROOT / "docker-compose.yml"
SMALL: Final = ROOT / "docker-compose.small.yml"

VALUES: Final[Mapping[str, str]] = {
    "GRAFANA_PASSWORD": "grafanapassword",
    "NATS_TOKEN": "natstoken",
    "POSTGRES_PASSWORD": "postgrespassword",
}
"""What has to be set for the compose file."""

_MODULES: Final = {"croupier": "croupier_server", "penguin": "croupier_client"}
_VARIABLE: Final = re.compile(r"\$(?:\$|\{(\w+)(?:(:-|:\?)([^}]*))?\})")
_MISSING: Final = "${%s}: %s"


@dataclass(frozen=True, slots=True)
class Launch:
    """How to run a service as a process.

    Attributes:
        argv: the program with its arguments.
        environment: what is set besides the environment that one has.
        ports: those that it will listen on, by section of the settings: ``server``, ``web``,
            ``operations``.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    ports: Mapping[str, int]


def launch(service: str, urls: Mapping[str, str], file: Path = CLUSTER) -> Launch:
    """How to run a service of a compose file here.

    Args:
        urls: for each host that the service is told of, the whole URL to use instead; as in
            ``{"nats": "nats://127.0.0.1:4333", "gateway": "ws://127.0.0.1:8123"}``.

    Raises:
        KeyError: the service is told of a host that is not among them.
    """
    compose = read_compose(file)
    spec = compose["services"][service]
    here = _Here({name: urls.get(name) for name in compose["services"]}, mounts(spec, file.parent))
    given = {key: value for key, value in spec.get("environment", {}).items() if value is not None}
    listened = [key for key in given if key.endswith("__PORT")]
    free = dict(zip(listened, free_ports(len(listened)), strict=True))
    environment = {key: here.text(value) for key, value in given.items()}
    environment |= {key: str(port) for key, port in free.items()}
    name = program(spec)
    return Launch(
        (sys.executable, "-m", _MODULES[name], *map(here.text, spec["command"])),
        environment,
        {key.split("__")[0].removeprefix("CROUPIER_").lower(): port for key, port in free.items()},
    )


def read_compose(file: Path = CLUSTER, values: Mapping[str, str] = VALUES) -> dict[str, Any]:
    """A compose file with its variables put in.

    Raises:
        KeyError: one that has to be set is not among the values.
    """
    filled: dict[str, Any] = _filled(_loaded(file), values)
    return filled


def interpolated(text: str, values: Mapping[str, str]) -> str:
    """A text with its variables put in, as Compose does: ``${A}``, ``${A:-b}``, ``${A:?why}``.

    Raises:
        KeyError: one that has to be set is not among the values.
    """

    def value(found: re.Match[str]) -> str:
        name, how, rest = found.groups()
        if name is None:
            return "$"
        if values.get(name) or how is None:
            return values.get(name, "")
        if how == ":?":
            raise KeyError(_MISSING % (name, rest))
        return str(rest)

    return _VARIABLE.sub(value, text)


def program(spec: Mapping[str, Any]) -> str:
    """What a service's image runs, ``croupier`` or ``penguin``; only for services that we build."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stage = text.partition(f" AS {spec['build']['target']}\n")[2].partition("\nFROM ")[0]
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", stage, re.MULTILINE)
    [name] = json.loads(entry)
    return str(name)


def mounts(spec: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """What a service has mounted of the compose file's folder, by its path in the container."""
    parts = [volume.split(":") for volume in spec.get("volumes", [])]
    return {
        target: (folder / source).resolve() for source, target, *_ in parts if source[0] in "./"
    }


def free_ports(count: int) -> Sequence[int]:
    """So many different ports of this machine that nobody listens on."""
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in held]


@cache
def _loaded(file: Path) -> Any:
    """A compose file as it stands; whoever changes it changes it for all."""
    loader: Any = YAML(typ="safe")
    return loader.load(file.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class _Here:
    """Puts what there is on this machine for what there is in a container."""

    urls: Mapping[str, str | None]
    mounted: Mapping[str, Path]

    def text(self, text: str) -> str:
        """An argument, or a variable's value."""
        if text in self.mounted:
            return str(self.mounted[text])
        if text == "0.0.0.0":
            return "127.0.0.1"
        for host, url in self.urls.items():
            text = self._with_url(text, host, url)
        return text

    @staticmethod
    def _with_url(text: str, host: str, url: str | None) -> str:
        pattern = (
            rf"\b[a-z]+://(?:[^@/\s]*@)?{re.escape(host)}(?![\w.-]|:[^/\s]*@)(?::\d+)?(?:/\S*)?"
        )
        if url is None and re.search(pattern, text):
            raise KeyError(host)
        return re.sub(pattern, lambda _: url or "", text)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return interpolated(value, values)
    if is_object(value):
        return {key: _filled(part, values) for key, part in value.items()}
    if is_array(value):
        return [_filled(part, values) for part in value]
    return value
