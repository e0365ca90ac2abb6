"""Programs that run on Node, and the npm packages that they import."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from support.needs import require

VARIABLE = "CROUPIER_NODE_MODULES"
OLDEST = 18


def ready_to_run(program: Path, folder: Path) -> list[str]:
    """The command that runs a program; skips the test where Node or a package is missing.

    Modules are looked up from where the program lies: where the packages are elsewhere, a copy
    runs in `folder`, beside a link to them.
    """
    node = node_command()
    wanted = json.loads((program.parent / "package.json").read_text(encoding="utf-8"))
    packages: list[str] = list(wanted["dependencies"])
    beside = program.parent / "node_modules"
    if not _has(beside, packages):
        named = os.environ.get(VARIABLE)
        elsewhere = Path(named or "nowhere")
        reason = f"{', '.join(packages)}: neither in {beside} nor in what {VARIABLE} names"
        require("node-packages", named and _has(elsewhere, packages), reason)
        if not (folder / "node_modules").exists():
            (folder / "node_modules").symlink_to(elsewhere.resolve(), target_is_directory=True)
        program = Path(shutil.copy(program, folder))
    return [node, str(program)]


def node_command() -> str:
    """Node; skips the test where it is missing or too old."""
    node = shutil.which("node")
    require("node", node, "no `node` on the PATH")
    assert node is not None
    version = _version(node)
    require("node", version >= OLDEST, f"node is version {version}, and {OLDEST} is needed")
    return node


@cache
def _version(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"v(\d+)\.", said)
    return int(found[1]) if found else 0


def _has(folder: Path, packages: list[str]) -> bool:
    return all((folder / name / "package.json").exists() for name in packages)
