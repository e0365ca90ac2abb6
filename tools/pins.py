"""Keep the exact versions of everything that Croupier is run and tested with.

They stand in pyproject.toml as `[tool.uv] constraint-dependencies`; constraints.txt is the same
list for pip. Neither says where a package comes from.

    python tools/pins.py            write constraints.txt from pyproject.toml
    python tools/pins.py --check    exit with 1 if the two differ
    python tools/pins.py --update   resolve again, newest versions first (needs uv), and write both
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MEMBERS = ("common", "client", "server")
OLDEST_PYTHON = "3.11"
UV_OPTIONS = (
    *("--no-config", "--quiet", "--universal", "--python-version", OLDEST_PYTHON),
    *("--no-annotate", "--no-header"),
)
HEADER = "# Made by tools/pins.py from pyproject.toml: change it there.\n"
LIST_PATTERN = re.compile(r"^constraint-dependencies = \[.*?\]$", re.MULTILINE | re.DOTALL)


def read_toml(path: Path) -> dict[str, Any]:
    """Give a TOML file's content."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def constraints_text(root: Path = ROOT) -> str:
    """Give what constraints.txt has to hold, from the root pyproject.toml."""
    pins = read_toml(root / "pyproject.toml")["tool"]["uv"]["constraint-dependencies"]
    return HEADER + "".join(f"{pin}\n" for pin in pins)


def differences(root: Path = ROOT) -> list[str]:
    """Give the lines that are in only one of constraints.txt and pyproject.toml; none is good."""
    path = root / "constraints.txt"
    written = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    wanted = constraints_text(root).splitlines()
    if written == wanted:
        return []
    added = [f"+ {line}" for line in wanted if line not in written]
    gone = [f"- {line}" for line in written if line not in wanted]
    return added + gone or ["the order of the lines"]


def requirements(root: Path = ROOT) -> list[str]:
    """Give what members, their extras, their builds and the dev group ask for, members left out."""
    wanted: set[str] = set(read_toml(root / "pyproject.toml")["dependency-groups"]["dev"])
    for member in MEMBERS:
        content = read_toml(root / member / "pyproject.toml")
        wanted.update(content["build-system"]["requires"])
        wanted.update(content["project"]["dependencies"])
        for extra in content["project"].get("optional-dependencies", {}).values():
            wanted.update(extra)
    return sorted(line for line in wanted if not line.startswith("croupier-"))


def resolve(lines: list[str]) -> list[str]:
    """Resolve requirements for every platform and every Python from the oldest on, with uv."""
    uv = shutil.which("uv")
    if uv is None:
        raise SystemExit("pins: --update needs uv on the PATH (pip install uv)")
    # Away from the project, where uv would apply the very pins that are to be renewed.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [uv, "pip", "compile", "-", *UV_OPTIONS],
            input="\n".join(lines),
            cwd=folder,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit("pins: uv could not resolve the requirements")
    return [line for line in done.stdout.splitlines() if line]


def update(root: Path = ROOT) -> None:
    """Write freshly resolved versions into the root pyproject.toml."""
    path = root / "pyproject.toml"
    items = "".join(f'    "{pin}",\n' for pin in resolve(requirements(root)))
    block = f"constraint-dependencies = [\n{items}]"
    text, count = LIST_PATTERN.subn(lambda _: block, path.read_text(encoding="utf-8"), count=1)
    if count != 1:
        raise SystemExit(f"pins: no constraint-dependencies in {path}")
    path.write_text(text, encoding="utf-8", newline="\n")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Exact versions, in pyproject.toml and for pip.")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="only compare; exit code 1 if unequal")
    action.add_argument("--update", action="store_true", help="resolve again with uv, then write")
    options = parser.parse_args()
    if options.check:
        different = differences()
        for line in different:
            print(f"pins: constraints.txt differs from pyproject.toml: {line}", file=sys.stderr)
        return 1 if different else 0
    if options.update:
        update()
    (ROOT / "constraints.txt").write_text(constraints_text(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
