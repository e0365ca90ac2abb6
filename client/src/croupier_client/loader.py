"""From a target to a player: ``module:Class``, ``path/to/file.py``, or a house player's name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from croupier_client.errors import LoadError
from croupier_client.house import House, make_rogue
from croupier_client.player import Player
from croupier_common.errors import InvalidStrategy
from croupier_common.strategies import forms, make, names

__all__ = ["Target", "house_forms", "load", "target_of"]


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of player that has been found.

    Attributes:
        name: a short name for it: its class's, or what was asked for.
        make: makes one; what its constructor raises comes as :class:`LoadError`.
    """

    name: str
    make: Callable[[], Player]


def load(target: str, *, seed: int = 0) -> Target:
    """The kind of player that a target names; modules are looked for in the current folder too.

    Args:
        seed: for a house player whose target has none.

    Raises:
        LoadError: there is none, or its code can't be loaded.
    """
    head, colon, rest = target.partition(":")
    if head == "rogue" and colon:
        make_rogue(rest)
        return Target(target, lambda: make_rogue(rest))
    # One's own random.py or minimax.py is taken only with a class behind the colon.
    if head in names() and not (rest.isidentifier() and Path(f"{head}.py").exists()):
        return _house(target, head, rest, seed)
    path, name = _split(target)
    module = _from_file(path) if path.endswith(".py") else _from_module(path, target)
    return target_of(_named(module, name) if name else _only(module, path))


def target_of(player: type[Player]) -> Target:
    """The kind of player that a class is."""
    return Target(player.__name__, lambda: _construct(player))


def house_forms() -> str:
    """The targets that are house players, for a message."""
    return ", ".join([*forms(), "random:SEED", "rogue:KIND:TURN"])


def _house(target: str, name: str, argument: str, seed: int) -> Target:
    spec = target
    if name == "random" and argument:
        if not argument.isascii() or not argument.isdecimal() or len(argument) > 18:
            raise LoadError(f"{argument!r:.40} is no seed: random:SEED has a whole number from 0")
        spec, seed = name, int(argument)
    try:
        make(spec)
    except InvalidStrategy as problem:
        raise LoadError(str(problem)) from None
    return Target(target, lambda: House(spec, seed))


def _split(target: str) -> tuple[str, str]:
    """A file or module, and the class in it or nothing; the colon of a drive's name stays."""
    path, colon, name = target.rpartition(":")
    if colon and (name.isidentifier() or not target.endswith(".py")):
        return path, name
    return target, ""


def _from_file(text: str) -> ModuleType:
    path = Path(text).resolve()
    if not path.is_file():
        raise LoadError(f"no file {text}")
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path) and hasattr(module, "__penguin__"):
            return module
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_{len(sys.modules)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"{text} can't be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__penguin__"] = True
    sys.path.insert(0, str(path.parent))  # where it looks for its own modules
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:
        del sys.modules[name]
        raise LoadError(f"loading {text} failed: {_told(problem)}") from problem
    return module


def _from_module(name: str, target: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise LoadError(
            f"{target!r:.80} is no player; it can be module:Class, path/to/file.py:Class, or one "
            f"of the house: {house_forms()}"
        )
    folder = str(Path.cwd())
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is not None and f"{name}.".startswith(f"{problem.name}."):
            hint = "" if ":" in target else f", and no such house player ({house_forms()})"
            raise LoadError(f"no module {name!r} in {folder} or installed{hint}") from None
        raise LoadError(f"loading {name} failed: {_told(problem)}") from problem
    except (Exception, SystemExit) as problem:
        raise LoadError(f"loading {name} failed: {_told(problem)}") from problem


def _named(module: ModuleType, name: str) -> type[Player]:
    found = getattr(module, name, None)
    if found is None:
        there = ", ".join(player.__name__ for player in _players(module)) or "no player"
        raise LoadError(f"no class {name!r:.80} in {module.__file__}; it has {there}")
    if not isinstance(found, type) or not issubclass(found, Player):
        raise LoadError(f"{name} in {module.__file__} is no subclass of croupier_client.Player")
    return found


def _only(module: ModuleType, path: str) -> type[Player]:
    players = _players(module)
    if len(players) != 1:
        there = ", ".join(player.__name__ for player in players)
        raise LoadError(
            f"{path} has several players; say which: {path}:Class with one of {there}"
            if players
            else f"no subclass of croupier_client.Player in {path}"
        )
    return players[0]


def _players(module: ModuleType) -> list[type[Player]]:
    """The players that a module itself defines and that have all they need."""
    return [
        found
        for found in vars(module).values()
        if isinstance(found, type)
        and issubclass(found, Player)
        and found.__module__ == module.__name__
        and not inspect.isabstract(found)
    ]


def _construct(player: type[Player]) -> Player:
    missing = sorted(player.__abstractmethods__)
    if missing:
        raise LoadError(f"{player.__name__} has no method {' and no method '.join(missing)}")
    try:
        return player()
    except (Exception, SystemExit) as problem:
        raise LoadError(f"{player.__name__}() failed: {_told(problem)}") from problem


def _told(problem: BaseException) -> str:
    """An exception in one line, with the place that raised it."""
    text = " ".join(traceback.format_exception_only(problem)[-1].split())
    frames = traceback.extract_tb(problem.__traceback__)
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{text} ({Path(problem.filename).name}, line {problem.lineno})"
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
