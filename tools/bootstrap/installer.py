"""Make an environment and install into it with pip, or say in one line why that cannot be."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

from bootstrap.environment import (
    MEMBERS,
    ROOT,
    STATE_NAME,
    WINDOWS,
    Environment,
    SetupError,
    build_requirements,
    dev_requirements,
    environment_folder,
    is_ready,
    locked,
    say,
    wanted_state,
)

PACKAGES = tuple(f"croupier_{member}" for member in MEMBERS)

OLDEST_PIP = (22, 3)
"""The first pip that installs into another Python's environment (`--python`)."""

STOP_SECONDS = 5

PIP_MISDIRECTION = (
    "PIP_DRY_RUN",
    "PIP_NO_DEPS",
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
)
"""Settings that would make pip install somewhere else, or not everything."""

PIP_ERROR = re.compile(r"\s*error: (.+?)\s*$", re.IGNORECASE)

NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError"
    r"|ConnectionError|ConnectionReset|Max retries exceeded|Temporary failure in name resolution"
    r"|Network is unreachable|SSLError|Connection refused"
)


def clean_variables() -> dict[str, str]:
    """Give the variables for pip and the environment's Python: ours, less what would misdirect."""
    dropped = {"PYTHONHOME", "PYTHONPATH", "PYTHONWARNINGS", "__PYVENV_LAUNCHER__"}
    dropped.update(PIP_MISDIRECTION)
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PYTHONIOENCODING": "utf-8"}


def own_pip() -> list[str] | None:
    """Give the command of this Python's pip if it can install into another environment."""
    command = [sys.executable, "-m", "pip"]
    done = subprocess.run(
        [*command, "--version"],
        env=clean_variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    found = re.match(r"pip (\d+)\.(\d+)", done.stdout)
    if found is None or (int(found[1]), int(found[2])) < OLDEST_PIP:
        return None
    return command


def remove(environment: Environment) -> None:
    """Remove what an older or interrupted set-up left, and nothing that is not ours."""
    folder = environment.folder
    # Renamed first: an interrupted removal must not look like somebody else's folder.
    doomed = folder.with_name(f"{folder.name}.old")
    if folder.exists():
        if any(folder.iterdir()) and not (folder / STATE_NAME).exists():
            raise SetupError(f"{folder} is in use for something else; CROUPIER_VENV names another")
        if doomed.exists():
            shutil.rmtree(doomed)
        folder.rename(doomed)
    if doomed.exists():
        shutil.rmtree(doomed)


def make_environment(environment: Environment) -> None:
    """Make the environment anew, without pip."""
    try:
        import venv
    except ImportError:
        raise SetupError(
            f"{sys.executable} has no venv module; on Debian: apt install python3-venv"
        ) from None
    remove(environment)
    environment.folder.mkdir(parents=True)
    environment.write_state({})
    venv.EnvBuilder(symlinks=not WINDOWS, with_pip=False).create(environment.folder)


def pip_command(environment: Environment) -> list[str]:
    """Give the pip command that installs into the environment.

    The pip that came with this Python is asked first, since Debian's has no ensurepip; where it is
    missing or too old, ensurepip puts one into the environment.
    """
    command = own_pip()
    if command is not None:
        return [*command, "--python", str(environment.python)]
    inner = [str(environment.python), "-m", "pip"]
    if importlib.util.find_spec("ensurepip") is not None:
        done = subprocess.run(
            [str(environment.python), "-m", "ensurepip", "--default-pip"],
            env=clean_variables(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode == 0:
            return inner
    raise SetupError(
        f"needs pip {OLDEST_PIP[0]}.{OLDEST_PIP[1]} or newer for {sys.executable}"
        f" (try: {sys.executable} -m pip install --upgrade pip;"
        " on Debian: apt install python3-pip python3-venv)"
    )


def pip_install(environment: Environment, pip: list[str], lock: int, arguments: list[str]) -> None:
    """Run pip, writing what it says to the log, and its steps to a terminal."""
    command = [*pip, "install", "--no-input", "--disable-pip-version-check", "--no-user"]
    command += ["--no-build-isolation", "--progress-bar", "off"]
    command += ["--constraint", str(ROOT / "constraints.txt"), *arguments]
    # pip inherits the lock: should we be killed, the next run.py still waits for it to end. It has
    # a process group of its own, so that what it starts in the environment is ended with it.
    on_posix: Any = {} if WINDOWS else {"pass_fds": (lock,), "start_new_session": True}
    process = subprocess.Popen(
        command,
        env=clean_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        **on_posix,
    )
    assert process.stdout is not None
    try:
        with environment.log.open("a", encoding="utf-8") as log:
            last = follow(process.stdout, log)
    except BaseException:
        stop(process)
        raise
    if process.wait() != 0:
        raise SetupError(explain(environment, last))


def stop(process: subprocess.Popen[str]) -> None:
    """End pip and all that it started; it gets a moment to remove its temporary files."""
    if sys.platform == "win32":
        # Ctrl-C has reached what it started already.
        process.terminate()
        process.wait()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def follow(lines: IO[str], log: IO[str]) -> list[str]:
    """Copy pip's lines to the log, show each step on a terminal, and give the lines back."""
    terminal = sys.stderr.isatty()
    width = shutil.get_terminal_size().columns - 1
    seen: list[str] = []
    for line in lines:
        log.write(line)
        seen.append(line)
        if terminal and line.startswith(("Collecting", "Building", "Installing")):
            shown = f"  {line.strip()}"[:width]
            print(f"\r{shown:<{width}}", end="\r", file=sys.stderr, flush=True)
    if terminal:
        print(f"\r{'':<{width}}", end="\r", file=sys.stderr, flush=True)
    return seen


def explain(environment: Environment, lines: Sequence[str]) -> str:
    """Give the one line that says why pip failed."""
    log = f"(all that pip said is in {environment.log})"
    if any(NO_NETWORK.search(line) for line in lines):
        return f"pip could not reach its package index; is there a network? {log}"
    errors = [found[1] for line in lines if (found := PIP_ERROR.match(line))]
    reason = errors[0] if errors else "it gave no reason"
    return f"pip failed: {reason} {log}"


def check_installed(environment: Environment, names: Sequence[str]) -> None:
    """Raise if a package did not reach the environment, as when a pip.conf sets a target."""
    code = (
        "import importlib.util, sys\n"
        "print(*(n for n in sys.argv[1:] if importlib.util.find_spec(n) is None))"
    )
    missing = subprocess.run(
        [str(environment.python), "-I", "-c", code, *names],
        env=clean_variables(),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    if missing.returncode != 0 or missing.stdout.strip():
        what = ", ".join(missing.stdout.split()) or "anything"
        raise SetupError(
            f"pip did not install {what} into {environment.folder}: does a pip setting send it"
            f" elsewhere? (all that pip said is in {environment.log})"
        )


def install(environment: Environment, wanted: Mapping[str, str], lock: int) -> None:
    """Bring the environment to the wanted state; its state file is written last."""
    state = environment.read_state() or {}
    if state.get("place") != wanted["place"] or not environment.python.exists():
        say(f"first run: setting up {environment.folder} (about a minute)")
        make_environment(environment)
        state = {}
    else:
        say(f"bringing {environment.folder} up to date")
        # Half-done changes cannot be told from whole ones: until the end, this counts as nothing.
        environment.write_state({})
    environment.log.write_text("", encoding="utf-8")
    pip = pip_command(environment)
    if state.get("base") != wanted["base"]:
        members = [part for member in MEMBERS for part in ("--editable", str(ROOT / member))]
        pip_install(environment, pip, lock, build_requirements())
        pip_install(environment, pip, lock, members)
    if "dev" in wanted and state.get("dev") != wanted["dev"]:
        pip_install(environment, pip, lock, dev_requirements())
    check_installed(environment, [*PACKAGES, *(["pytest"] if "dev" in wanted else [])])
    environment.write_state(wanted)


def set_up(dev: bool) -> Environment:
    """Give an environment that is ready, after making it so where necessary."""
    environment = Environment(environment_folder())
    wanted = wanted_state(environment, dev)
    if is_ready(environment, wanted):
        return environment
    try:
        environment.folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(environment) as lock:
            # Another run.py may have done it, or part of it, while this one waited.
            if not is_ready(environment, wanted):
                install(environment, kept(environment, wanted), lock)
    except OSError as error:
        raise SetupError(
            f"cannot write to {error.filename or environment.folder}: {error.strerror or error}"
            " (CROUPIER_VENV can name a folder elsewhere)"
        ) from error
    return environment


def kept(environment: Environment, wanted: Mapping[str, str]) -> dict[str, str]:
    """Add to what is wanted the dev group that is there already and still right."""
    state = environment.read_state() or {}
    full = wanted_state(environment, dev=True)
    if state.get("place") == wanted["place"] and state.get("dev"):
        return full
    return dict(wanted)
