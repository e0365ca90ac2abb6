"""How often a wrong token may be tried."""

from __future__ import annotations

import ipaddress
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

__all__ = ["Throttle"]

WINDOW_S: Final = 60.0
MAX_OF_ONE: Final = 5
MAX_OF_ALL: Final = 100
"""So many wrong tokens in a window, from one address and from all together.

A token can't be guessed; this keeps the log readable, and guessing cheap for the server. The limit
for all is wide, since whoever reaches it keeps the operator out too.
"""


class Throttle:
    """Counts wrong tokens, by address; what it keeps is bounded by the limit for all.

    Args:
        clock: gives seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: deque[tuple[float, str]] = deque()

    def wait_s(self, address: str) -> int:
        """For how many seconds this address has to wait before the next try; 0 for not at all."""
        now, who = self._clock(), _network(address)
        while self._failures and self._failures[0][0] <= now - WINDOW_S:
            self._failures.popleft()
        counts = Counter(other for _, other in self._failures)
        if len(self._failures) >= MAX_OF_ALL:
            first = self._failures[0][0]
        elif counts[who] >= MAX_OF_ONE:
            first = next(at for at, other in self._failures if other == who)
        else:
            return 0
        return max(1, round(first + WINDOW_S - now))

    def failed(self, address: str) -> None:
        """A wrong token came from this address."""
        self._failures.append((self._clock(), _network(address)))

    def succeeded(self, address: str) -> None:
        """The right token came from this address: its wrong ones were slips."""
        who = _network(address)
        self._failures = deque(one for one in self._failures if one[1] != who)


def _network(address: str) -> str:
    """What counts as one address: with IPv6, everybody has 2 to the 64th of them."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)
