"""How long a tournament takes: at most, by its clocks, and at a pace that somebody thinks likely.

At most: each answer takes all the time that there is for it. A game has as many placements as
penguins, and each move takes a tile away for good. While all places for games are taken, the games
go by in rows of that many; while one is free, each game that waits does so for its own players
alone. The sum of the two can't be passed, in whatever order games end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.rules import MIN_PLAYERS, penguins_for
from croupier_common.strategies import make
from croupier_server.commands.spans import span

if TYPE_CHECKING:
    from croupier_server.settings import GameSettings, Settings
    from croupier_server.tournament.model import Plan

__all__ = ["GameTime", "likely_lines", "longest_game", "rows_at_most", "sizes_of", "worst_lines"]

SAMPLED: Final = 300
"""On a board with more tiles no game is played to see how long it is."""

SHARE: Final = 0.65
"""What part of the tiles of such a board are moved over in a game."""

MACHINE_S: Final = 0.002
"""What a turn takes beside the player's thinking, on one machine."""


@dataclass(frozen=True, slots=True)
class GameTime:
    """The time of one game, and how it comes about."""

    seconds: float
    told: str


def sizes_of(settings: Settings, plan: Plan) -> list[int]:
    """How many can sit at a table: in a knock-out later rounds have other tables than the first."""
    sizes = {len(pairing.players) for pairing in plan.first if not pairing.is_bye}
    if settings.tournament.format == "knockout" and sizes:
        sizes = set(range(MIN_PLAYERS, max(sizes) + 1))
    return sorted(sizes)


def longest_game(settings: Settings, sizes: Iterable[int]) -> GameTime:
    """The longest that a game can take: the start, all placements, and all moves there can be."""
    return max((_longest(settings, size) for size in sizes), key=lambda game: game.seconds)


def _longest(settings: Settings, players: int) -> GameTime:
    clocks, tiles = settings.clocks, tiles_of(settings.game)
    each = penguins_for(players)
    # in the end somebody's penguins still stand on tiles; a player that is put out has been asked
    placements, moves = players * each, max(0, tiles - each) + players - 1
    extra_ms = clocks.latency_allowance_ms
    spare_ms = players * (clocks.bank_ms + clocks.grace_ms)
    spare_ms += clocks.increment_ms * (placements + moves)
    total_ms = clocks.start_ms + extra_ms + spare_ms
    total_ms += placements * (clocks.place_ms + extra_ms) + moves * (clocks.move_ms + extra_ms)
    told = (
        f"{players} players: start {_s(clocks.start_ms + extra_ms)} + {placements} placements x "
        f"{_s(clocks.place_ms + extra_ms)} + {moves} moves x {_s(clocks.move_ms + extra_ms)} "
        f"({tiles} tiles - {each} under the last penguins + {players - 1} that fail)"
        f" + {_s(spare_ms)} spare time"
    )
    return GameTime(total_ms / 1000, f"{told} = {span(total_ms / 1000)}")


def worst_lines(settings: Settings, plan: Plan) -> Iterator[str]:
    """How long it takes at most, with the arithmetic."""
    if plan.games is None or plan.rounds is None or not plan.games:
        yield "at most: no end by itself" if plan.games is None else "at most: nothing to play"
        return
    sizes = sizes_of(settings, plan)
    longest = longest_game(settings, sizes)
    rows, told = rows_at_most(settings, plan, max(sizes))
    acks_s = 2 * (settings.clocks.ack_ms + settings.clocks.latency_allowance_ms) / 1000
    total = rows * longest.seconds + acks_s
    yield f"at most {span(total)}: {rows:,} games in a row x {span(longest.seconds)}"
    yield f"  a game of {longest.told}"
    yield f"  {told}"
    free = settings.clocks.no_clock
    if free:
        yield f"  but there is no limit for {', '.join(free)}, without a clock"


def rows_at_most(settings: Settings, plan: Plan, size: int) -> tuple[int, str]:
    """How many games can follow one another at most, and why."""
    games, slots = plan.games or 0, settings.tournament.games_at_once
    rounds, chain = plan.rounds or 0, plan.chain or 0
    if settings.tournament.format == "knockout":
        tail, why = rounds, f"{rounds} rounds, each of which waits for its last game"
    elif settings.tournament.format == "swiss":
        tail = chain
        why = f"{chain}: {rounds} rounds, each of which waits for a block of {size} games"
    else:
        tail = size * (chain - 1) + 1
        why = f"{tail:,}: a game waits for {size} players, each with {chain - 1:,} other games"
    full = games // slots if slots <= plan.at_once else 0
    rows = min(full + tail, games)
    if rows == games:
        return rows, f"all {games:,} games one after another"
    while_full = f"{games:,} games / {slots} at a time = {full:,}, and then " if full else ""
    return rows, f"{while_full}{why}"


def likely_lines(settings: Settings, plan: Plan, move_s: float) -> Iterator[str]:
    """How long it takes if all answers take so long, with the arithmetic."""
    sizes = sizes_of(settings, plan)
    if not sizes:
        return
    plies = max(typical_plies(settings.game, size) for size in sizes)
    game_s = plies * (move_s + MACHINE_S)
    per_game = f"a game of {plies} plies x {span(move_s)} = {span(game_s)}"
    at_once = max(1, min(settings.tournament.games_at_once, plan.at_once))
    if plan.games is None:
        yield f"likely: {per_game}; {at_once * 3_600 / game_s:,.0f} games an hour"
        return
    games = _likely_games(settings, plan)
    rows = max(-(-games // at_once), plan.chain or 0)
    yield f"likely {span(rows * game_s)}: {rows:,} games in a row x {span(game_s)}"
    yield f"  {per_game} (--move-time)"
    yield f"  {games:,} games, {at_once} at a time; {plan.chain or 0:,} of them follow one another"


def _likely_games(settings: Settings, plan: Plan) -> int:
    from croupier_server.commands.progress_of import knockout_rest

    if settings.tournament.format == "knockout":
        return len(plan.first) + knockout_rest(len(plan.first))
    return plan.games or 0


def typical_plies(game: GameSettings, players: int) -> int:
    """How many plies a game has: as many as one of greedy players on such a board."""
    tiles, placements = tiles_of(game), players * penguins_for(players)
    if tiles > SAMPLED:
        return placements + round(SHARE * tiles)
    board = game.board.build(0, rules=game.rules, players=players)
    played = Game("plan", board, list(Color)[:players], game.rules)
    greedy, plies = make("greedy"), 0
    played.begin()
    while (request := played.request) is not None:
        played.reply(greedy.choose(request.state).to_json())
        plies += 1
    return plies


def tiles_of(game: GameSettings) -> int:
    """How many tiles a board has; all that the settings make have as many."""
    return game.board.build(0).mask.bit_count()


def _s(millis: int) -> str:
    """Seconds to the last digit, so that the sum can be checked."""
    return f"{millis / 1000:g} s"
