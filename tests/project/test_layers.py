"""The layers: common stands alone, client and server stand on it and not on each other."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

MAY_USE = {
    "croupier_common": {"croupier_common"},
    "croupier_client": {"croupier_common", "croupier_client"},
    "croupier_server": {"croupier_common", "croupier_server"},
}

PART_OF = {
    "nats": "nats-py",
    "opentelemetry": "opentelemetry-api",
    "pydantic_core": "pydantic",
    "typing_extensions": "pydantic",
}
"""What a dependency brings under another name, or belongs to its own interface."""

IMPURE = {
    "asyncio": "the network",
    "datetime": "the clock",
    "os": "files and the environment",
    "pathlib": "files",
    "random": "a random source",
    "secrets": "a random source",
    "socket": "the network",
    "subprocess": "processes",
    "threading": "threads",
    "time": "the clock",
    "uuid": "a random source",
}
"""What croupier_common may not import, since seeds, times and streams are arguments there."""


def source_folder(package: str) -> Path:
    return ROOT / package.removeprefix("croupier_") / "src" / package


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Give the line and the name of every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path.name)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.lineno, node.module


def imports(package: str) -> Iterator[tuple[str, str]]:
    """Give the place and the top-level name of every import of a package."""
    for path in sorted(source_folder(package).rglob("*.py")):
        for line, module in imported(path):
            yield f"{path.relative_to(ROOT)}:{line}", module.split(".")[0]


@pytest.mark.parametrize("package", MAY_USE)
def test_package_imports_only_layers_below_it(package: str) -> None:
    foreign = MAY_USE.keys() - MAY_USE[package]
    assert [(place, name) for place, name in imports(package) if name in foreign] == []


@pytest.mark.parametrize("package", MAY_USE)
def test_package_imports_only_what_it_declares(package: str) -> None:
    """A dependency that comes along with another one today may be gone tomorrow."""
    text = (source_folder(package).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    undeclared = [
        (place, name)
        for place, name in imports(package)
        if name not in sys.stdlib_module_names
        and name not in MAY_USE[package]
        and f'"{PART_OF.get(name, name).replace("_", "-")}>=' not in text
    ]
    assert undeclared == [], "declare it in the pyproject.toml of the distribution"


def test_common_reads_no_clock_chance_file_or_socket() -> None:
    impure = [(place, name) for place, name in imports("croupier_common") if name in IMPURE]
    assert impure == []


def test_imports_are_found_at_any_depth(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text("import a.b\ndef f():\n    from c.d import e\n", encoding="utf-8")
    assert list(imported(path)) == [(1, "a.b"), (3, "c.d")]
