"""What a submission says of itself: its player.toml, or a Python file with a player of the kit.

::

    name = "Pingu"
    command = "java Player"                # or ["java", "Player"]
    transport = "stdio"                    # or "websocket"; {url} in the command is the address
    build = "javac Player.java"            # or several: ["cmake .", "make"]

A Python file is read as text, and never run.
"""

from __future__ import annotations

import ast
import shlex
import stat
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from croupier_common.jsontypes import is_array, shown
from croupier_common.render import printable
from croupier_server.errors import BadSubmission, Refused
from croupier_server.grading.unpack import open_file
from croupier_server.names import checked_name

__all__ = ["MANIFEST", "Manifest", "has_player", "is_player_file", "read_manifest"]

MANIFEST: Final = "player.toml"

Transport = Literal["stdio", "websocket"]

_KEYS: Final = ("name", "command", "transport", "build")
_URL: Final = "{url}"
_KIT: Final = "croupier_client"
_LARGEST_MANIFEST: Final = 8 << 10
"""Reading a key of 30,000 parts takes half a minute, in which nothing else is done."""

_LARGEST_CODE: Final = 1 << 18
_MOST_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Manifest:
    """How a submission is built and started.

    Attributes:
        name: the player's.
        command: what starts it, from within its folder.
        build: commands that build it, in order; there may be none.
        is_kit: it was found as a Python file with a player of the kit.
    """

    name: str
    command: tuple[str, ...]
    transport: Transport = "stdio"
    build: tuple[tuple[str, ...], ...] = ()
    is_kit: bool = False


@dataclass(frozen=True, slots=True)
class _Code:
    """A Python file that has players, or seems to.

    Attributes:
        players: the classes that are players, but for those that others are made of.
        is_only: no class but one is a player.
        problem: why it can't be read.
    """

    file: str
    players: tuple[str, ...] = ()
    is_only: bool = False
    problem: str = ""


def has_player(folder: Path) -> bool:
    """Whether a folder says at its top what its player is, be it wrong."""
    return _is_file(folder / MANIFEST) or any(_codes(folder))


def is_player_file(path: Path) -> bool:
    """Whether it is a Python file with a player of the kit, or may have been meant as one."""
    if path.suffix != ".py" or not _is_file(path):
        return False
    code = _code(path)
    return bool(code.players or code.problem)


def read_manifest(folder: Path) -> Manifest:
    """What a submission is.

    Raises:
        BadSubmission: its player.toml is wrong, or there is no player in it, or more than one.
    """
    if _is_file(folder / MANIFEST):
        return _from_toml(folder / MANIFEST)
    seeming = list(_codes(folder))
    codes = [code for code in seeming if code.players]
    if not codes:
        raise BadSubmission(seeming[0].problem if seeming else _no_player(folder))
    if len(codes) > 1 or len(codes[0].players) != 1:
        there = ", ".join(f"{name} in {code.file}" for code in codes for name in code.players)
        raise BadSubmission(f"several players: {there}; say which one plays in a {MANIFEST}")
    return _of_kit(codes[0])


# -- player.toml


def _from_toml(path: Path) -> Manifest:
    told = _toml(path)
    for key in told:
        if key not in _KEYS:
            raise _wrong(f"no key {shown(key, 40)}; there are {', '.join(_KEYS)}")
    command = _command(told.get("command"), "command")
    transport = told.get("transport", "stdio")
    if transport not in ("stdio", "websocket"):  # not in a set: it may be a list
        raise _wrong(f'transport is "stdio" or "websocket", not {shown(transport, 40)}')
    if transport == "stdio" and any(_URL in word for word in command):
        raise _wrong(f'command has {_URL}, which needs transport = "websocket"')
    return Manifest(
        name=_name(told.get("name")),
        command=command,
        transport=transport,
        build=tuple(_build(told.get("build", []))),
    )


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        with open_file(path) as file:
            raw = file.read(_LARGEST_MANIFEST + 1)
        if len(raw) > _LARGEST_MANIFEST:
            raise _wrong(f"it has more than {_LARGEST_MANIFEST} bytes")
        return tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as problem:
        raise _wrong(f"it is not UTF-8: {problem.reason} at byte {problem.start}") from None
    except (ValueError, RecursionError) as problem:  # not TOML, or a number of 5,000 digits
        raise _wrong(f"it is no TOML: {printable(str(problem), 120)}") from None


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise _wrong(f'a name is wanted, as name = "Pingu"{_instead(name)}')
    try:
        return checked_name(name)
    except Refused as problem:
        raise _wrong(f"{problem}, not {shown(name, 60)}") from None


def _build(told: object) -> Iterator[tuple[str, ...]]:
    if isinstance(told, str):
        yield _command(told, "build")
        return
    if not is_array(told):
        raise _wrong(f"build is a command, or a list of commands{_instead(told)}")
    for one in told:
        yield _command(one, "build")


def _command(told: object, key: str) -> tuple[str, ...]:
    """A command: one text, which is split as a shell splits it, or a list of words."""
    if isinstance(told, str):
        try:
            words = shlex.split(told)
        except ValueError as problem:
            raise _wrong(f"{key} {shown(told, 60)}: {problem}") from None
    else:
        words = _texts(told, key)
    if not words or not words[0] or any("\0" in word for word in words):
        raise _wrong(f"{key} {shown(told, 60)} names no program")
    return tuple(words)


def _texts(told: object, key: str) -> list[str]:
    words = told if is_array(told) else [None]
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) < len(words):
        example = '"java Player" or ["java", "Player"]'
        raise _wrong(f"{key} is text, or a list of texts, as {example}{_instead(told)}")
    return texts


def _instead(told: object) -> str:
    return "" if told is None else f", not {shown(told, 60)}"


def _wrong(what: str) -> BadSubmission:
    return BadSubmission(f"{MANIFEST}: {what}")


# -- a Python file


def _of_kit(code: _Code) -> Manifest:
    (player,) = code.players
    file = f"./{code.file}" if code.file.startswith("-") else code.file
    target = file if code.is_only else f"{file}:{player}"
    return Manifest(
        name=player[:32],
        command=("python3", "-s", "-P", "-m", _KIT, "stdio", target),
        is_kit=True,
    )


def _codes(folder: Path) -> Iterator[_Code]:
    """The Python files at the top of a folder that have a player, or seem to."""
    for path in sorted(folder.iterdir()):
        if is_player_file(path):
            yield _code(path)


def _code(path: Path) -> _Code:
    with open_file(path) as file:
        raw = file.read(_LARGEST_CODE + 1)
    if _KIT.encode() not in raw:
        return _Code(path.name)
    if len(raw) > _LARGEST_CODE:
        return _Code(path.name, problem=f"{path.name}: more than {_LARGEST_CODE} bytes of code")
    try:
        with warnings.catch_warnings(action="ignore"):
            return _players(path.name, ast.parse(raw, path.name))
    except SyntaxError as problem:
        told = printable(f"line {problem.lineno}: {problem.msg}", 120)
        return _Code(path.name, problem=f"{path.name}: it is no Python: {told}")
    except (ValueError, RecursionError, MemoryError) as problem:
        told = printable(str(problem), 100) or "it is nested too deeply"
        return _Code(path.name, problem=f"{path.name}: it is no Python: {told}")


def _players(file: str, tree: ast.Module) -> _Code:
    """The classes of a module that are players; of those, the ones that nothing is made of."""
    bases, modules = set[str](), set[str]()
    found, used = list[str](), set[str]()
    for statement in _statements(tree.body):
        if isinstance(statement, ast.ImportFrom) and _is_kits(statement.module):
            for alias in statement.names:
                if alias.name in {"Player", "*"}:
                    bases.add(alias.asname or "Player")
        elif isinstance(statement, ast.Import):
            modules |= {
                alias.asname or alias.name for alias in statement.names if _is_kits(alias.name)
            }
        elif isinstance(statement, ast.ClassDef):
            above = {ast.unparse(base) for base in statement.bases}
            if above & (bases | {f"{module}.Player" for module in modules}):
                used |= above
                bases.add(statement.name)
                found.append(statement.name)
    leaves = tuple(dict.fromkeys(name for name in found if name not in used))
    return _Code(file, leaves, is_only=len(found) == 1)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those behind an `if` or a `try` too."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _statements(statement.body)
            yield from _statements(getattr(statement, "orelse", []))


def _is_kits(module: str | None) -> bool:
    return module is not None and module.split(".")[0] == _KIT


# -- no player


def _no_player(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    for name in names:
        if name.lower() in {f"{MANIFEST}.txt", MANIFEST} or name.lower() == "player.toml.toml":
            return f"{printable(name)}: its name should be {MANIFEST}"
    wanted = f"a {MANIFEST}, or a Python file with a subclass of {_KIT}.Player"
    there = ", ".join(printable(name, 40) for name in names[:_MOST_SHOWN]) or "nothing"
    more = ", ..." if len(names) > _MOST_SHOWN else ""
    return f"no player in it: {wanted} is wanted, and there is {there}{more}"


def _is_file(path: Path) -> bool:
    """Whether it is a file, and no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
