"""A program that is to play, and how it is to be run; from text, or from a table of settings."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from croupier_common.jsontypes import shown
from croupier_server.errors import UserError

__all__ = ["Program", "programs_from_settings"]

_MAX_AGE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that is to play.

    Attributes:
        command: the program and its arguments; no shell reads them.
        cwd: the folder that it runs in; ours if None.
        env: variables for it, beyond the few that every program gets; nothing else of our
            environment is passed on.
        age: its age, if the operator gives one; then nothing else counts.
        token: lets it join where there is a roster; the program does not get it.
        log: where its standard error goes.
    """

    name: str
    command: Sequence[str]
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    age: int | None = None
    token: str | None = field(default=None, repr=False)
    log: Path | None = None

    @classmethod
    def from_text(cls, text: str) -> Program:
        """The program that ``NAME=COMMAND`` says; the command is split as a shell would.

        Raises:
            UserError: it says none.
        """
        name, equals, command = text.partition("=")
        if not equals or not name.strip() or not command.strip():
            raise UserError(
                f"player {shown(text)}: it is NAME=COMMAND, as in 'Pingu=python3 my_player.py'"
            )
        return cls(name=name.strip(), command=_split(command))


class _Table(BaseModel):
    """A program as a table of settings has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    command: str | tuple[str, ...]
    cwd: Path | None = None
    env: dict[str, str] = {}
    age: Annotated[int | None, Field(ge=0, le=_MAX_AGE)] = None
    token: str | None = None
    log: Path | None = None

    def program(self) -> Program:
        command = _split(self.command) if isinstance(self.command, str) else self.command
        if not command:
            raise UserError(f"player {shown(self.name)} has no command")
        return Program(
            name=self.name,
            command=command,
            cwd=self.cwd,
            env=self.env,
            age=self.age,
            token=self.token,
            log=self.log,
        )


def programs_from_settings(value: object) -> tuple[Program, ...]:
    """The programs that an array says, of ``NAME=COMMAND`` or of tables with Program's fields.

    Raises:
        ValueError: it says something else; one line that names what and where.
    """
    if not isinstance(value, list | tuple):
        raise ValueError("it is an array of 'NAME=COMMAND' or of tables")
    try:
        return tuple(_program(entry) for entry in cast("Sequence[object]", value))
    except UserError as problem:
        raise ValueError(str(problem)) from None


def _program(entry: object) -> Program:
    if isinstance(entry, Program):
        return entry
    if isinstance(entry, str):
        return Program.from_text(entry)
    try:
        return _Table.model_validate(entry).program()
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"a player's {where}: {first['msg']}") from None


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as problem:
        raise UserError(f"command {shown(command)}: {str(problem).lower()}") from None
