"""The roster: who may play, each with a token of which only a hash is kept.

A roster is a TOML file that `croupier token` writes and people may edit::

    [[entrant]]
    name = "Ada"
    age = 20
    token = "sha256:2bb80d53..."

Tokens are 192 random bits, so that a plain hash can't be undone.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import structlog

from croupier_common.jsontypes import is_array, is_object, is_whole, shown
from croupier_common.messages import ErrorCode
from croupier_server.errors import Refused, UserError
from croupier_server.names import checked_name, likeness, name_key

__all__ = ["Entrant", "Roster", "RosterFile", "new_token"]

log = structlog.get_logger(__name__)

_SCHEME: Final = "sha256:"
_HASH: Final = re.compile(_SCHEME + "[0-9a-f]{64}")
_FIELDS: Final = ("name", "age", "token")
_HEADING: Final = "# Who may play. Tokens are kept as hashes; `croupier token` makes new ones.\n"


@dataclass(frozen=True, slots=True)
class Entrant:
    """Someone who may play.

    Attributes:
        token: the hash of the entrant's token, as the file has it.
    """

    name: str
    token: str
    age: int | None = None


def new_token() -> str:
    """A new token, as it is given to an entrant."""
    return secrets.token_urlsafe(24)


def _hashed(token: str) -> str:
    return _SCHEME + sha256(token.encode()).hexdigest()


class Roster:
    """Those who may play, by name.

    Raises:
        UserError: two names are the same or look the same.
    """

    def __init__(self, entrants: Iterable[Entrant]) -> None:
        self._entrants: dict[str, Entrant] = {}
        looks: dict[str, str] = {}
        for entrant in entrants:
            look = likeness(entrant.name)
            if look in looks:
                raise UserError(
                    f"entrants {looks[look]!r} and {entrant.name!r} can't be told apart by eye"
                )
            looks[look] = entrant.name
            self._entrants[name_key(entrant.name)] = entrant

    @property
    def entrants(self) -> Sequence[Entrant]:
        """All of them, in the file's order."""
        return tuple(self._entrants.values())

    def admit(self, name: str, token: str | None) -> Entrant:
        """The entrant of that name, if the token is its own.

        Raises:
            Refused: it is not, or there is no such entrant; which of the two is not told.
        """
        entrant = self._entrants.get(name_key(name))
        given = _hashed(token or "")
        known = entrant.token if entrant is not None else _hashed(new_token())
        if not hmac.compare_digest(given, known) or entrant is None or token is None:
            raise Refused(
                "this tournament has a roster, and name and token are not in it together",
                ErrorCode.TOKEN,
            )
        return entrant

    def with_token(self, name: str, token: str, age: int | None = None) -> Roster:
        """A roster in which an entrant, new or old, has that token.

        Raises:
            UserError: the name can't be, or looks like another's.
        """
        try:
            name = checked_name(name)
        except Refused as refused:
            raise UserError(f"{shown(name, 60)}: {refused}") from None
        before = self._entrants.get(name_key(name), Entrant(name, ""))
        after = replace(before, token=_hashed(token), age=before.age if age is None else age)
        return Roster({**self._entrants, name_key(name): after}.values())

    def without(self, name: str) -> Roster:
        """A roster in which that entrant is not.

        Raises:
            UserError: it isn't in this one either.
        """
        if name_key(name) not in self._entrants:
            raise UserError(f"{shown(name, 60)} is not in the roster")
        rest = {key: one for key, one in self._entrants.items() if key != name_key(name)}
        return Roster(rest.values())

    @classmethod
    def read(cls, path: Path) -> Roster:
        """The roster in a file.

        Raises:
            UserError: the file can't be read, or what is in it can't be; says what and where.
        """
        try:
            data: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as problem:
            raise UserError(f"{path}: {problem.strerror}") from None
        except (ValueError, RecursionError) as problem:  # not TOML, or a number of 5,000 digits
            raise UserError(f"{path}: not TOML: {problem}") from None
        entries = data.pop("entrant", [])
        if data or not is_array(entries):
            raise UserError(f"{path}: a roster has [[entrant]] tables, and nothing else")
        try:
            return cls(_read_entrant(entry, at) for at, entry in enumerate(entries, 1))
        except UserError as problem:
            raise UserError(f"{path}: {problem}") from None

    def write(self, path: Path) -> None:
        """Write it to a file, whole or not at all.

        Raises:
            UserError: that can't be done.
        """
        text = _HEADING + "".join(map(_entrant_text, self._entrants.values()))
        new = path.with_name(f"{path.name}.new")
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(path)
        except OSError as problem:
            raise UserError(f"{path}: {problem.strerror}") from None


class RosterFile(Roster):
    """The roster in a file, read again when that changes: who is admitted meanwhile may play.

    Raises:
        UserError: see :meth:`Roster.read`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = _stamp(path)
        super().__init__(Roster.read(path).entrants)

    def admit(self, name: str, token: str | None) -> Entrant:
        """See the base."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            self._read_again()
        return super().admit(name, token)

    def _read_again(self) -> None:
        """Take what is in the file now, or stay with what was, if it is no roster any more."""
        try:
            entrants = Roster.read(self._path).entrants
        except UserError as problem:
            log.warning("the roster stays as it was", reason=str(problem))
            return
        super().__init__(entrants)
        log.info("roster read again", entrants=len(entrants))


def _stamp(path: Path) -> tuple[int, ...]:
    """Another for another content of the file; an empty one if there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read_entrant(value: object, number: int) -> Entrant:
    where = f"entrant {number}"
    if not is_object(value):
        raise UserError(f"{where} is no table")
    for field in value:
        if field not in _FIELDS:
            raise UserError(f"{where}: no field {field!r:.40}; there are {', '.join(_FIELDS)}")
    name, token, age = value.get("name"), value.get("token"), value.get("age")
    if not isinstance(name, str):
        raise UserError(f"{where} has no name")
    try:
        name = checked_name(name)
    except Refused as refused:
        raise UserError(f"{where}: {refused}") from None
    if not isinstance(token, str) or _HASH.fullmatch(token) is None:
        raise UserError(f"{where} ({name}): token is no hash; `croupier token` makes one")
    if age is not None and (not is_whole(age) or not 0 <= age <= 1_000_000):
        raise UserError(f"{where} ({name}): age is {shown(age, 40)}, not a whole number from 0")
    return Entrant(name, token, age)


def _entrant_text(entrant: Entrant) -> str:
    age = "" if entrant.age is None else f"age = {entrant.age}\n"
    # JSON's strings are TOML's too, once nothing in them is beyond what can be printed
    name = json.dumps(entrant.name, ensure_ascii=False)
    return f'\n[[entrant]]\nname = {name}\n{age}token = "{entrant.token}"\n'
