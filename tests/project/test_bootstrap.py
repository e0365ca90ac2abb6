"""run.py without a network: what it refuses, what counts as set up, how a command runs."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap import commands, environment, installer
from bootstrap.environment import STATE_NAME, Environment, SetupError
from support.needs import require

ROOT = Path(__file__).resolve().parent.parent.parent
RUN = ROOT / "run.py"

COMMAND = """\
#!/bin/sh
echo "$PWD|$VIRTUAL_ENV|$PYTHONPATH|$*"
[ "$2" = wait ] && exec "INTERPRETER" -c "import time; print(flush=True); time.sleep(20)"
exit 5
"""


def run_py(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *arguments],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


@pytest.fixture
def place(tmp_path: Path) -> Environment:
    """An environment that is not there yet, in a folder with a space."""
    return Environment(tmp_path / "some where" / "env")


@pytest.fixture
def ready(place: Environment) -> Environment:
    """An environment that counts as set up, with one command that tells how it was called."""
    require("posix", os.name == "posix", "commands are scripts here")
    place.scripts.mkdir(parents=True)
    place.python.symlink_to(sys.executable)
    command = Path(place.script("croupier"))
    command.write_text(COMMAND.replace("INTERPRETER", sys.executable), encoding="utf-8")
    command.chmod(0o755)
    place.write_state(environment.wanted_state(place, dev=False))
    return place


def test_launcher_can_be_read_by_old_pythons() -> None:
    ast.parse(RUN.read_text(encoding="utf-8"), feature_version=(3, 4))


def test_run_help_lists_the_commands() -> None:
    done = run_py("--help")
    assert done.returncode == 0
    assert all(f"run.py {name}" in done.stdout for name in commands.COMMANDS)


@pytest.mark.parametrize("arguments", [["tset"], ["--players", "6"]])
def test_run_unknown_command_is_one_line(arguments: list[str]) -> None:
    done = run_py(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert arguments[0] in done.stderr
    assert "demo, test" in done.stderr


def test_run_leaves_a_folder_alone_that_is_not_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.txt").write_text("x", encoding="utf-8")
    done = run_py("demo", CROUPIER_VENV=str(folder))
    assert done.returncode == 2
    assert "in use for something else" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_run_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run_py("demo", CROUPIER_VENV=str(tmp_path / "file" / "env"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot write" in done.stderr


def test_run_passes_options_folder_and_exit_code(ready: Environment) -> None:
    done = run_py("demo", "--players", "6 7", CROUPIER_VENV=str(ready.folder), PYTHONPATH="/no")
    assert done.returncode == 5, done.stderr
    assert done.stdout == f"{Path.cwd()}|{ready.folder}||demo --players 6 7\n"
    assert done.stderr == ""


def test_run_keeps_the_users_path_for_their_own_players(ready: Environment) -> None:
    done = run_py("croupier", "x", CROUPIER_VENV=str(ready.folder), PYTHONPATH="/mine")
    assert done.stdout == f"{Path.cwd()}|{ready.folder}|/mine|x\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_is_the_command_to_signals(ready: Environment, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, str(RUN), "croupier", "x", "wait"],
        env={**os.environ, "CROUPIER_VENV": str(ready.folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == -number
    assert "run.py" not in errors


def test_child_knows_how_it_was_started_to_say_so_in_hints(
    place: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["my games/run.py", "demo"])
    told = commands.child_variables(place, own_path=False)["CROUPIER_RUN"]
    quote = '"' if os.name == "nt" else "'"
    assert told.partition(" ")[2] == f"{quote}my games/run.py{quote}"


def test_environment_folder_is_one_per_python_or_as_named() -> None:
    own = environment.environment_folder({})
    assert own.is_relative_to(ROOT / ".venv-run")
    assert own.name == sys.implementation.cache_tag
    assert environment.environment_folder({"CROUPIER_VENV": "here"}) == Path.cwd() / "here"


def test_is_ready_only_in_the_very_state_that_is_wanted(ready: Environment) -> None:
    wanted = environment.wanted_state(ready, dev=False)
    assert environment.is_ready(ready, wanted)
    assert not environment.is_ready(ready, environment.wanted_state(ready, dev=True))
    for key in wanted:
        assert not environment.is_ready(ready, {**wanted, key: "other"})
    ready.python.unlink()
    assert not environment.is_ready(ready, wanted)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_is_ready_not_with_a_state_cut_short(ready: Environment, text: str) -> None:
    (ready.folder / STATE_NAME).write_text(text, encoding="utf-8")
    assert not environment.is_ready(ready, environment.wanted_state(ready, dev=False))


def test_lock_is_held_by_one(place: Environment) -> None:
    place.folder.parent.mkdir(parents=True)
    with environment.locked(place), place.lock.open("a+b") as second:
        assert not environment.try_lock(second)
    with place.lock.open("a+b") as third:
        assert environment.try_lock(third)


class FakePip:
    """Stands in for pip: remembers what was asked, and can be interrupted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, interrupted_at: int | None = None) -> None:
        self.asked: list[list[str]] = []
        self.interrupted_at = interrupted_at
        monkeypatch.setattr(installer, "pip_command", self.command)
        monkeypatch.setattr(installer, "pip_install", self.install)
        monkeypatch.setattr(installer, "check_installed", self.check)

    def command(self, _env: Environment) -> list[str]:
        return ["pip"]

    def check(self, _env: Environment, _names: list[str]) -> None:
        pass

    def install(self, _env: Environment, _pip: list[str], _lock: int, arguments: list[str]) -> None:
        if len(self.asked) == self.interrupted_at:
            raise KeyboardInterrupt
        self.asked.append(arguments)


@pytest.fixture
def own_place(place: Environment, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setenv("CROUPIER_VENV", str(place.folder))
    return place


def test_set_up_interrupted_does_not_count(
    own_place: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakePip(monkeypatch, interrupted_at=1)
    with pytest.raises(KeyboardInterrupt):
        installer.set_up(dev=False)
    leftover = own_place.folder / "half-installed"
    leftover.touch()
    whole = FakePip(monkeypatch)
    installer.set_up(dev=False)
    assert len(whole.asked) == 2
    assert not leftover.exists()


def test_set_up_a_second_time_does_nothing(
    own_place: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = FakePip(monkeypatch)
    installer.set_up(dev=False)
    installer.set_up(dev=False)
    assert pip.asked == [
        environment.build_requirements(),
        [p for m in ("common", "client", "server") for p in ("--editable", str(ROOT / m))],
    ]
    assert own_place.python.exists()


def test_set_up_adds_the_dev_group_to_what_is_there(
    own_place: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = FakePip(monkeypatch)
    installer.set_up(dev=False)
    kept = own_place.folder / "kept"
    kept.touch()
    installer.set_up(dev=True)
    installer.set_up(dev=False)
    assert pip.asked[2:] == [environment.dev_requirements()]
    assert kept.exists()


def test_clean_variables_drop_what_misdirects_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_TARGET", "PIP_USER", "PYTHONHOME", "PYTHONPATH", "PIP_CERT"):
        monkeypatch.setenv(name, "x")
    variables = installer.clean_variables()
    assert "PIP_CERT" in variables
    assert not {"PIP_TARGET", "PIP_USER", "PYTHONHOME", "PYTHONPATH"} & variables.keys()


def test_explain_tells_a_missing_network_from_a_missing_version(place: Environment) -> None:
    refused = ["WARNING: Retrying after connection broken by 'NewConnectionError(...)'", "ERROR: x"]
    assert "is there a network?" in installer.explain(place, refused)
    unknown = ["ERROR: No matching distribution found for click==99", "ERROR: second"]
    assert "No matching distribution found for click==99" in installer.explain(place, unknown)


def test_pip_too_old_without_ensurepip_says_what_to_do(
    place: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(installer, "own_pip", nothing)
    monkeypatch.setattr("importlib.util.find_spec", nothing)
    with pytest.raises(SetupError, match=r"pip 22\.3 or newer.*install --upgrade pip"):
        installer.pip_command(place)


def test_check_installed_finds_what_went_elsewhere(ready: Environment) -> None:
    installer.check_installed(ready, ["json"])
    with pytest.raises(SetupError, match="did not install no_such_package"):
        installer.check_installed(ready, ["json", "no_such_package"])
