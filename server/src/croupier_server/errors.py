"""The exceptions of croupier_server.

::

    CroupierError                 root of this distribution
    ├── UserError                 one clear line for who started the program; exit code 2
    │   ├── NotMade               a database that who plays first makes, or brings up to date
    │   └── TournamentOver        a tournament that was played to its end
    ├── Refused                   a player that may not join, with the error it is sent
    │   └── NotNow                nobody can decide that now; it is to come back
    ├── ProgramFailed             a program that did not become a player, with the verdict on it
    ├── BadSubmission             a submission that can't be graded; one line for its author
    ├── NotEnoughPlayers          the lobby's time is over; exit code 1
    ├── ServerFault               a fault of ours that ends a game; ejects nobody
    │   └── Fenced                another took the game over, and what this one writes is refused
    ├── StoppedByOrder            the operator has stopped a tournament, which can go on later
    └── StorageFailed             nothing can be written any more; the server has to stop
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from croupier_common.verdict import Fault

__all__ = [
    "BadSubmission",
    "CroupierError",
    "Fenced",
    "NotEnoughPlayers",
    "NotMade",
    "NotNow",
    "ProgramFailed",
    "Refused",
    "ServerFault",
    "StoppedByOrder",
    "StorageFailed",
    "TournamentOver",
    "UserError",
    "first_of",
]


class CroupierError(Exception):
    """Root of the exceptions of this distribution."""


class UserError(CroupierError):
    """What the user asked for can't be: what, where and what is allowed, in one line."""


class NotMade(UserError):
    """The database has no schema yet, or an older one: who plays first makes it."""


class TournamentOver(UserError):
    """The tournament that is asked for was played to its end."""


class Refused(CroupierError):
    """A player may not join.

    ``code`` and ``data`` go into the error that it is sent.
    """

    def __init__(self, reason: str, code: int, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.data = data


class NotNow(Refused):
    """Nobody can decide now whether a player may join: it is sent away to come back."""


class ProgramFailed(CroupierError):
    """A program did not answer the greeting as it should, so that it is no player.

    ``name`` is the player's, ``fault`` says what it did.
    """

    def __init__(self, name: str, fault: Fault) -> None:
        super().__init__(f"{name}: {fault.verdict}: {fault.detail}")
        self.name = name
        self.fault = fault


class BadSubmission(CroupierError):
    """A submission can't be graded: the file in it, and what is wrong with that, in one line."""


class NotEnoughPlayers(CroupierError):
    """The lobby has waited as long as it was told to, and too few players are there."""


class ServerFault(CroupierError):
    """Something of ours went wrong in a game: it is interrupted, and no player is to blame."""


class Fenced(ServerFault):
    """Another took this game over: what is written of it under the epoch before is refused."""


class StoppedByOrder(CroupierError):
    """The operator has stopped the tournament; it can go on later."""


class StorageFailed(CroupierError):
    """The database takes nothing any more: where it is, and the system's reason, in one line.

    What waited to be written is not known to be, and must not count.
    """


def first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception that matters, of those that ended a group of tasks.

    That nothing can be written any more matters most.
    """
    fatal, _ = several.split(StorageFailed)
    found = (several if fatal is None else fatal).exceptions[0]
    if isinstance(found, BaseExceptionGroup):
        return first_of(cast("BaseExceptionGroup[BaseException]", found))
    return found
