"""Numbers of users that nobody has, one for each submission, for root to give them."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from typing import Final

from croupier_server.errors import UserError

__all__ = ["Ids"]

_FIRST: Final = 52_000
_BLOCK: Final = 2_000
_BLOCKS: Final = 4
"""Below 60,000, where systems and name services give none; and below 65,536, as a container that
has user ids of its own may have no higher ones."""


@dataclass(frozen=True, slots=True)
class Ids:
    """A block of ids; as long as this exists, nobody else on the machine claims the same.

    Attributes:
        first: the lowest.
    """

    first: int
    claim: socket.socket

    @classmethod
    def claimed(cls) -> Ids:
        """A block that is free.

        Raises:
            UserError: there is none.
        """
        for block in range(_BLOCKS):
            first = _FIRST + block * _BLOCK
            claim = _claim(first)
            if claim is not None:
                return cls(first, claim)
        raise UserError(f"isolation: {_BLOCKS} gradings run on this machine; no more can")

    def __del__(self) -> None:
        """Free the block."""
        self.claim.close()

    def of(self, number: int) -> int:
        """The id of a submission, which is also the one of its group.

        Raises:
            UserError: there are too many, or the id is somebody's.
        """
        found = self.first + number
        if not 0 <= number < _BLOCK:
            raise UserError(f"isolation: submission {number}: at most {_BLOCK} at a time")
        if _is_known(found):
            raise UserError(
                f"isolation: user id {found} belongs to somebody; none from {_FIRST} to "
                f"{_FIRST + _BLOCK * _BLOCKS - 1} may"
            )
        return found


def _claim(first: int) -> socket.socket | None:
    """A name in the kernel's own list, which is free again when we end, however that is."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0croupier-user-ids-{first}")
    except OSError:
        claim.close()
        return None
    return claim


def _is_known(found: int) -> bool:
    if sys.platform == "win32":
        return False
    import grp
    import pwd

    for lookup in (pwd.getpwuid, grp.getgrgid):
        try:
            lookup(found)
        except KeyError:
            continue
        return True
    return False
