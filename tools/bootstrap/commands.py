"""Set Croupier up in an environment of its own, then run one of its commands.

    python3 run.py demo [OPTIONS]       a whole tournament on this machine
    python3 run.py test [OPTIONS]       the tests; options go to pytest
    python3 run.py croupier [OPTIONS]   the server and its tools
    python3 run.py penguin [OPTIONS]    the player kit
    python3 run.py bench [OPTIONS]      the benchmarks
    python3 run.py lint                 formatting, types, layers, pins
    python3 run.py setup                only set up

The first run takes about a minute, the next ones start at once. The environment is made in
.venv-run beside run.py, or in the folder that CROUPIER_VENV names. Nothing else is installed,
and neither the system's Python nor an environment that is active is changed.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bootstrap.environment import ROOT, WINDOWS, Environment, SetupError, say
from bootstrap.installer import set_up

USAGE = 2
INTERRUPTED = 130
TERMINATED = 143


def child_variables(environment: Environment, own_path: bool) -> dict[str, str]:
    """Give a command's variables: as if the environment were active.

    CROUPIER_RUN says how to start another one, for the hints that a command prints.
    """
    variables = dict(os.environ)
    variables.pop("PYTHONHOME", None)
    variables.pop("__PYVENV_LAUNCHER__", None)
    if not own_path:
        variables.pop("PYTHONPATH", None)
    variables["CROUPIER_RUN"] = run_py()
    variables["VIRTUAL_ENV"] = str(environment.folder)
    variables["PATH"] = os.pathsep.join([str(environment.scripts), variables.get("PATH", "")])
    variables.setdefault("PYTHONIOENCODING", "utf-8")
    return variables


def run_py() -> str:
    """Give the command that runs this again, as it is typed in this system's shell."""
    if WINDOWS:
        return subprocess.list2cmdline(["python", sys.argv[0]])
    return shlex.join(["python3", sys.argv[0]])


class Terminated(BaseException):
    """SIGTERM came; like KeyboardInterrupt, it passes everything that only handles errors."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    interrupted: bool


def run(command: Sequence[str], variables: Mapping[str, str], folder: Path | None = None) -> Ended:
    """Run a command to its end.

    Ctrl-C reaches it without our doing, and it decides what to make of it; SIGTERM is passed on.
    """
    sys.stdout.flush()
    process = subprocess.Popen(command, env=dict(variables), cwd=folder)
    interrupted = False
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            interrupted = True
        except Terminated:
            interrupted = True
            process.terminate()
        else:
            return Ended(code if code >= 0 else 128 - code, interrupted)


def become(command: Sequence[str], variables: Mapping[str, str], folder: Path | None = None) -> int:
    """Turn into the command, so that signals and the exit code are its own.

    On Windows, where a process cannot become another, run it and give its exit code.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if not WINDOWS:
        if folder is not None:
            os.chdir(folder)
        os.execve(command[0], list(command), dict(variables))  # noqa: S606  # there is no shell
    return run(command, variables, folder).code


def lint_steps(environment: Environment) -> dict[str, list[str]]:
    """Give the commands that `lint` runs, by name."""
    python = str(environment.python)
    return {
        "ruff check": [python, "-m", "ruff", "check", "."],
        "ruff format": [python, "-m", "ruff", "format", "--check", "."],
        "mypy": [python, "-m", "mypy"],
        "pyright": [python, "-m", "pyright", "--pythonpath", python, "--warnings"],
        "layers": [environment.script("lint-imports"), "--no-logo"],
        "pins": [python, "tools/pins.py", "--check"],
    }


def lint(environment: Environment) -> int:
    """Run every check, and fail if one does."""
    variables = child_variables(environment, own_path=False)
    # Its newest version is not ours to choose, and asking for it needs a network.
    variables["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"
    failed: list[str] = []
    for name, command in lint_steps(environment).items():
        say(f"lint: {name}")
        ended = run(command, variables, ROOT)
        if ended.interrupted:
            raise KeyboardInterrupt
        if ended.code != 0:
            failed.append(name)
    say(f"lint: failed: {', '.join(failed)}" if failed else "lint: all passed")
    return 1 if failed else 0


def usage_error(text: str) -> int:
    """Say what is wrong with the command line."""
    say(f"{text} (python3 run.py --help)")
    return USAGE


COMMANDS = ("demo", "test", "croupier", "penguin", "bench", "lint", "setup")


def dispatch(name: str, arguments: list[str]) -> int:
    """Set up what a command needs and run it."""
    if name == "setup":
        set_up(dev=False)
        return 0
    environment = set_up(dev=name in {"test", "lint"})
    python = str(environment.python)
    if name == "lint":
        return usage_error("lint takes no options") if arguments else lint(environment)
    here = child_variables(environment, own_path=True)
    alone = child_variables(environment, own_path=False)
    match name:
        case "demo":
            return become([environment.script("croupier"), "demo", *arguments], alone)
        case "test":
            return become([python, "-m", "pytest", *arguments], alone, ROOT)
        case "bench":
            return become([python, "-m", "benchmarks", *arguments], alone, ROOT)
        case _:
            return become([environment.script(name), *arguments], here)


def terminate(_number: int, _frame: object) -> NoReturn:
    """Handle SIGTERM: end a set-up as Ctrl-C does, so that pip does not outlive it."""
    raise Terminated


def main(arguments: list[str]) -> int:
    """Run the command line; gives the exit code."""
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print((__doc__ or "").strip())
        return 0 if arguments else USAGE
    if arguments[0] not in COMMANDS:
        return usage_error(f"no command {arguments[0]!r}; there are {', '.join(COMMANDS)}")
    signal.signal(signal.SIGTERM, terminate)
    try:
        return dispatch(arguments[0], arguments[1:])
    except SetupError as error:
        say(str(error))
        return USAGE
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except Terminated:
        say("terminated")
        return TERMINATED
