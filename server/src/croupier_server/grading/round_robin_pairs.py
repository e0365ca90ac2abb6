"""Playing the round robin: the pairs as slots allow, each kept as soon as it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from croupier_common.render import printable
from croupier_server.grading.evidence import Placing
from croupier_server.grading.progress import Progress
from croupier_server.grading.round_robin import PairPlayed, pairs, placings, play_pair
from croupier_server.grading.stages import Referee, Stages
from croupier_server.grading.store import digest
from croupier_server.tournament.model import Pairing, Result

__all__ = ["PairsPlay", "RobinPlayed"]

log = structlog.get_logger(__name__)

KEPT: Final = ".robin"
"""Where the blocks are kept, in the place of a submission; no name has a dot."""


@dataclass(frozen=True, slots=True)
class RobinPlayed:
    """What came of it.

    Attributes:
        faults: who has games that could not be played, for a fault of ours.
    """

    placings: Mapping[str, Placing]
    faults: Sequence[str]


@dataclass(slots=True)
class PairsPlay:
    """The round robin of some submissions, by their names; use once.

    A program is told names that say nothing, so that none can tell its friends from others.
    """

    referee: Referee
    stages: Mapping[str, Stages]
    blocks: int
    _busy: Mapping[str, asyncio.Lock] = field(init=False)
    _results: list[Result] = field(default_factory=list[Result], init=False)
    _faults: dict[str, None] = field(default_factory=dict[str, None], init=False)

    def __post_init__(self) -> None:
        self._busy = {name: asyncio.Lock() for name in self.stages}

    async def run(self, progress: Progress) -> RobinPlayed:
        """Play it."""
        names = list(self.stages)
        blocks = pairs(names, self.blocks)
        progress.begin("round robin", len(blocks))
        waiting = iter(blocks)

        async def work() -> None:
            for games in waiting:
                await self._block(games, progress)

        async with asyncio.TaskGroup() as group:
            for number in range(max(1, self.referee.slots.count // 2)):
                group.create_task(work(), name=f"round robin {number}")
        return RobinPlayed(placings(names, self._results), tuple(self._faults))

    async def _block(self, games: Sequence[Pairing], progress: Progress) -> None:
        """Play a block, unless it is kept; what goes wrong with ours costs nobody."""
        try:
            played = self._kept(games) or await self._play(games, progress)
            self._results += [
                replace(result, game=game.game, block=game.block, round=game.round)
                for result, game in zip(played.results, games, strict=True)
            ]
        except Exception:  # a fault of ours: the other pairs go on
            log.exception("a block of the round robin could not be played", block=games[0].block)
            self._faults.update(dict.fromkeys(games[0].players))
        progress.over()

    def _kept(self, games: Sequence[Pairing]) -> PairPlayed | None:
        stage, key = self._where(games)
        return self.referee.store.find(KEPT, stage, key, PairPlayed)

    async def _play(self, games: Sequence[Pairing], progress: Progress) -> PairPlayed:
        pair = sorted(games[0].players)
        stage, key = self._where(games)
        async with AsyncExitStack() as stack:
            for name in pair:  # in one order everywhere, or two could wait for each other
                await stack.enter_async_context(self._busy[name])
            able = [name for name in pair if await self.stages[name].make_ready(_say_nothing)]
            await stack.enter_async_context(self.referee.slots.hold(len(pair)))
            progress.now(pair[0], f"plays {printable(pair[1], 24)}")
            players = {
                self._alias(name): await stack.enter_async_context(
                    self.stages[name].player("robin", "round robin", self._alias(name))
                )
                for name in able
            }
            played = await play_pair(
                [self._disguised(game) for game in games],
                players,
                self.referee.boards,
                self.referee.rubric.clocks,
                self.referee.store.place(KEPT) / stage,
            )
        found = PairPlayed(tuple(self._revealed(result, pair) for result in played.results))
        self.referee.store.put(KEPT, stage, key, found)
        return found

    def _where(self, games: Sequence[Pairing]) -> tuple[str, str]:
        """Where a block is kept, and under which key."""
        pair, cycle = sorted(games[0].players), games[0].round
        digests = [self.stages[name].digest for name in pair]
        key = self.referee.games_key(("robin", cycle, *pair), *digests)
        return f"{cycle}.{digest(*pair)[:20]}", key

    def _alias(self, name: str) -> str:
        return f"player {digest(self.referee.boards.seed, name)[:8]}"

    def _disguised(self, game: Pairing) -> Pairing:
        return replace(game, players=tuple(map(self._alias, game.players)))

    def _revealed(self, result: Result, pair: Sequence[str]) -> Result:
        """The result by the names of the submissions."""
        names = {self._alias(name): name for name in pair}
        return replace(
            result,
            players=tuple(names[alias] for alias in result.players),
            ranking=tuple(tuple(names[alias] for alias in equals) for equals in result.ranking),
            verdicts={names[alias]: verdict for alias, verdict in result.verdicts.items()},
            fish={names[alias]: fish for alias, fish in result.fish.items()},
            tiles={names[alias]: tiles for alias, tiles in result.tiles.items()},
        )


def _say_nothing(_: str) -> None:
    """For what is told elsewhere."""
