"""This repository agrees with itself: versions, pins, licences, files, and names no host."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pins
from support.needs import require

ROOT = Path(__file__).resolve().parent.parent.parent
MEMBERS = ("common", "client", "server")

GENERATED = {"__pycache__", "build", "demo-records", "dist", "htmlcov", "records"}
HOST = re.compile(r"https?://\S*(pypi|/simple)|\b(pypi|pythonhosted|npmjs)\.(org|com|io)\b", re.I)


def project(member: str) -> dict[str, Any]:
    table: dict[str, Any] = pins.read_toml(ROOT / member / "pyproject.toml")["project"]
    return table


def own_files() -> Iterator[Path]:
    """Give the files that belong to the repository; no git, which an unpacked archive lacks."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in GENERATED and (not name.startswith(".") or name == ".ci")
        ]
        yield from (Path(folder, name) for name in names if name != "uv.lock")


def own_texts() -> Iterator[tuple[Path, str]]:
    for path in own_files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def module_version(member: str) -> str:
    """Give `__version__` as the source has it, without importing."""
    path = ROOT / member / "src" / f"croupier_{member}" / "__init__.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__version__")], value=ast.Constant(value=str(v))):
                return v
            case _:
                pass
    raise AssertionError(f"{path} has no literal __version__")


def test_versions_are_equal_everywhere() -> None:
    versions = {member: project(member)["version"] for member in MEMBERS}
    versions |= {f"{member} __version__": module_version(member) for member in MEMBERS}
    assert len(set(versions.values())) == 1, versions


@pytest.mark.parametrize("member", MEMBERS)
def test_members_need_each_other_in_the_same_version(member: str) -> None:
    version = project(member)["version"]
    own = [line for line in project(member)["dependencies"] if line.startswith("croupier-")]
    assert all(line.endswith(f"=={version}") for line in own), own


def test_members_need_only_those_below_them() -> None:
    needed = {
        member: {line.split("=")[0] for line in project(member)["dependencies"]}
        & {f"croupier-{other}" for other in MEMBERS}
        for member in MEMBERS
    }
    assert needed == {
        "common": set(),
        "client": {"croupier-common"},
        "server": {"croupier-common", "croupier-client"},
    }


@pytest.mark.parametrize("member", MEMBERS)
def test_members_have_the_licence_and_types(member: str) -> None:
    assert (ROOT / member / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (ROOT / member / "src" / f"croupier_{member}" / "py.typed").exists()
    assert project(member)["license"] == "MIT"
    assert project(member)["requires-python"] == f">={pins.OLDEST_PYTHON}"


def test_constraints_agree_with_pyproject() -> None:
    assert pins.differences() == []


def test_constraints_pin_every_direct_requirement() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.split("==")[0] for line in lines if "==" in line}
    names = {re.split(r"[\[<>=;~! ]", line, maxsplit=1)[0] for line in pins.requirements()}
    assert names <= pinned, names - pinned


def test_no_file_names_a_package_host() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path, text in own_texts()
        if (found := HOST.search(text))
    ]
    assert named == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("--index-url https:/_/mirror.example/simple/", True),
        ("https:/_/py_pi.org/project/x", True),
        ("files.python_hosted.org", True),
        ("https:/_/example.org/a", False),
        ("PyPI, a simple index", False),
    ],
)
def test_host_pattern_finds_hosts(text: str, found: bool) -> None:
    # The underscores keep the examples themselves from being found.
    assert bool(HOST.search(text.replace("_", ""))) == found


def test_files_are_utf8_with_unix_line_ends() -> None:
    wrong = [path for path, _ in own_texts() if b"\r\n" in path.read_bytes()]
    assert wrong == []


def test_changelog_has_an_unreleased_part_on_top() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[0] == "Unreleased"
    top = text.split("\n## ")[1]
    kinds = re.findall(r"^### (.+)$", top, re.MULTILINE)
    assert kinds == [k for k in ("Incompatible", "Added", "Changed", "Fixed") if k in kinds]


def test_readme_opens_with_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    opening = text.split("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", opening, re.MULTILINE | re.DOTALL)
    assert blocks == ["python3 run.py demo\n", "python3 run.py test\n"]


def test_images_do_not_run_as_root() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)
    final = [stage for stage in stages if "ENTRYPOINT" in stage]
    assert len(final) == 2
    assert all("\nUSER croupier\n" in stage for stage in final)


def test_type_checkers_read_all_sources() -> None:
    tools: dict[str, Any] = pins.read_toml(ROOT / "pyproject.toml")["tool"]
    sources = {path.relative_to(ROOT) for path in own_files() if path.suffix == ".py"}
    for read in (tools["mypy"]["files"], tools["pyright"]["include"]):
        unread = {p for p in sources if not any(p.is_relative_to(folder) for folder in read)}
        assert unread == set()


@pytest.mark.parametrize("name", [".ci/run", "run.py"])
def test_scripts_are_executable(name: str) -> None:
    require("posix", os.name == "posix", "file modes")
    assert os.access(ROOT / name, os.X_OK)
