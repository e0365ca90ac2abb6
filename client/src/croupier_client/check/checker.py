"""What the steps work with: the player at hand, and a fresh one where that one is spoilt."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from croupier_client.check.hosts import Host, NoPlayer
from croupier_client.check.links import Link, LinkLost
from croupier_client.check.results import Failed, Log, Skipped
from croupier_client.check.visit import Visit, is_silence, notification
from croupier_client.errors import ClientError
from croupier_common.verdict import Verdict

__all__ = ["Checker"]

_SILENCES: Final = 4
"""So many answers are waited for in vain, before the rest of the check is given up."""


class Checker:
    """The player that is checked.

    Attributes:
        host: where it comes from.
        warnings: what a step has to say though it goes on: texts and hints.
        hopeless: why there is no use in further steps; empty while there is.
        stays_away: why there is no use in losing the connection again.
        times_ms: by method, how long each answer took.
    """

    def __init__(self, host: Host, log: Log, budget_ms: int) -> None:
        self.host = host
        self.log = log
        self.budget_ms = budget_ms
        self.warnings: list[tuple[str, str]] = []
        self.hopeless = ""
        self.stays_away = ""
        self.times_ms: dict[str, list[int]] = {}
        self._visit: Visit | None = None
        self._silences = 0
        self._games = 0
        self._seen_one = False

    # -- players

    async def connected(self) -> Visit:
        """A fresh player that has connected and not joined.

        Raises:
            Failed: none could be started.
            Skipped: none has come again.
        """
        await self.leave()
        try:
            link = await self.host.fresh()
        except NoPlayer as problem:
            if self._seen_one and self.host.kind == "websocket":
                self.hopeless = f"{problem}; start it again for each visit, in a loop, say"
                raise Skipped(self.hopeless) from None
            self.hopeless = "no player could be had"
            raise Failed(str(problem), "Have a look at how it is started.") from None
        except ClientError as problem:
            self.hopeless = "no player could be had"
            raise Failed(str(problem), "Have a look at how it is started.") from None
        return self.take(link)

    def take(self, link: Link) -> Visit:
        """Have a visit over that connection be the one at hand."""
        self._seen_one = True
        visit = Visit(link, self.log, self.budget_ms, over_stdio=self.host.kind == "stdio")
        visit.times_ms, visit.warnings = self.times_ms, self.warnings
        self._visit = visit
        return visit

    async def joined(self) -> Visit:
        """A fresh player that has joined.

        Raises:
            Failed: it does not join as it should.
        """
        visit = await self.connected()
        self.hopeless = "it does not join"
        await visit.join()
        self.hopeless = ""
        return visit

    async def visit(self) -> Visit:
        """The player at hand, or a fresh one; the tournament has begun.

        Raises:
            Failed: it does not get so far.
        """
        if self._visit is not None and self._visit.has_ended:
            await self.leave()
        visit = self._visit or await self.joined()
        if not visit.has_joined:
            self.hopeless = "it does not join"
            await visit.join()
        if not visit.has_begun:
            self.hopeless = "it does not answer tournament_start"
            await visit.begin()
            self.hopeless = ""
        return visit

    @property
    def at_hand(self) -> Visit | None:
        """The player at hand, if there is one."""
        return self._visit

    async def at_the_door(self) -> Visit:
        """The player at hand if it has not been let in yet, or a fresh one.

        Raises:
            Failed: there is none, or it does not say who it is.
        """
        visit = self._visit
        if visit is None or visit.has_begun:
            visit = await self.connected()
        self.hopeless = "it does not join"
        await visit.hear_join()
        self.hopeless = ""
        return visit

    def game_id(self) -> str:
        """An id that no game had before."""
        self._games += 1
        return f"check.{self._games}"

    # -- their ends

    async def failed(self, problem: Failed) -> None:
        """A step has failed; a player with which nothing more can be done is let go."""
        if is_silence(problem):
            self._silences += 1
            if self._silences >= _SILENCES:
                self.hopeless = f"given up after {_SILENCES} answers that did not come"
        if problem.breaks:
            await self.leave(problem)

    async def leave(self, problem: Failed | None = None) -> None:
        """Let the player at hand go, as a server does that ejects it, or does not let it join."""
        visit, self._visit = self._visit, None
        if visit is None:
            return
        if self.host.kind == "websocket":
            with contextlib.suppress(Failed, LinkLost):
                await self._farewell(visit, problem)
        await visit.link.drop()

    @staticmethod
    async def _farewell(visit: Visit, problem: Failed | None) -> None:
        detail = str(problem or "the check begins anew")
        if not visit.has_joined:
            await visit.refuse(detail)
            return
        verdict = str((problem and problem.verdict) or Verdict.WITHDRAWN)
        told = {
            "verdict": verdict,
            "phase": visit.phase,
            "detail": detail,
            "fix": problem.hint if problem is not None else "",
            "link": "docs/check.md",
        }
        await visit.send(notification("ejected", told))
        await visit.link.close(4000, verdict)

    def dismissed(self) -> None:
        """The player at hand has been let go in good order."""
        self._visit = None

    # -- words

    def warn(self, told: str, hint: str = "") -> None:
        """Say something that is no fault."""
        self.warnings.append((told, hint))

    def only(self, *kinds: str) -> None:
        """Skip the step unless the player comes from there.

        Raises:
            Skipped: it does not.
        """
        if self.host.kind not in kinds:
            raise Skipped("does not apply to a player over " + _WAYS[self.host.kind])

    def last_words(self) -> Sequence[str]:
        """What the player's end has told beside the messages."""
        return [*self.log.notes, *self.host.last_words()]


_WAYS: Final = {"kit": "the kit", "websocket": "WebSocket", "stdio": "standard input and output"}
