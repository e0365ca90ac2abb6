"""The fair queue: which of the games that could be played is started next.

Nobody plays more games at once than it can; a game whose players are busy is passed over, so that
a slow player holds nobody up but its opponents. Slots are shared by two rules, half each:

- *longest work first*: the game of whoever has most left to play (its remaining games, times the
  mean duration of its games). The slowest player's games in a row are the least time that the
  tournament can take; this rule keeps that player playing from the beginning.
- *quickest game first*: a game among the quickest players, so that many slow ones can't take all
  slots, and the quick ones are done early with all but their games against the slow.

A rule that finds no game leaves its slots to the other. With an odd number of slots, or one, the
rule that has had less time so far goes next.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from croupier_server.tournament.model import Pairing

__all__ = ["FairQueue"]

Capacity: TypeAlias = Callable[[str], int]
Group: TypeAlias = frozenset[str]
_UNKNOWN: Final = 1.0
"""The seconds a game is thought to take while none of a player's has ended."""
_LONGEST: Final = 0
_QUICKEST: Final = 1


@dataclass(slots=True)
class _Player:
    """What the queue knows of a player.

    Attributes:
        number: in the order in which players came.
        left: how many games wait for it.
        groups: those it has such games in; in order, like all dicts to None here.
        took: how long its games took, sorted.
        is_slow: whether a game took long for which nobody else can be blamed.
        pace: within a factor of two, how long its quickest games took; 0 before any.
        work: the key by which players are sorted, who has most left first.
    """

    number: int
    left: int = 0
    groups: dict[Group, None] = field(default_factory=dict[Group, None])
    took: list[float] = field(default_factory=list[float])
    seconds: float = 0.0
    is_slow: bool = False
    pace: int = 0
    work: tuple[float, int] = (0.0, 0)


class FairQueue:
    """Games that wait, those that run, and what is known of the time that they take.

    Deterministic: the same calls give the same games. A `capacity` tells how many games at once
    a player can play.
    """

    def __init__(self, games_at_once: int) -> None:
        self._slots = games_at_once
        self._players: dict[str, _Player] = {}
        self._waiting: dict[str, Pairing] = {}
        self._groups: dict[Group, dict[str, Pairing]] = {}  # those that wait
        self._running: dict[str, tuple[Pairing, int]] = {}  # each with the rule that chose it
        self._run_by = [0, 0]  # how many of those either rule chose
        self._playing: dict[str, int] = {}
        # who can't play one more, as it was when last looked at, and for whom that can have changed
        self._full: set[str] = set()
        self._changed: set[str] = set()
        self._chosen: tuple[str, int] | None = None
        self._time = [0.0, 0.0]  # that the games of either rule took
        self._by_work: list[tuple[tuple[float, int], str]] = []
        # by pace and player; who begins a game goes to the end of its pace
        self._by_pace: dict[tuple[int, int], dict[str, dict[Group, None]]] = {}
        # who was busy when nothing could be started: until one of them is free, nothing can
        self._stuck: frozenset[str] | None = None
        self._freed: set[str] = set()  # who of them is free now

    def __len__(self) -> int:
        """How many games wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many games run."""
        return len(self._running)

    def add(self, pairings: Iterable[Pairing]) -> None:
        """Let these wait, behind those that wait already; who is here already is not added."""
        touched: dict[str, None] = {}
        for pairing in pairings:
            if pairing.game not in self._waiting and pairing.game not in self._running:
                self._enter(pairing)
                touched.update(dict.fromkeys(pairing.players))
        self._rank(touched)
        self._stuck = None

    def next(self, capacity: Capacity) -> Pairing | None:
        """What to start now; None if all slots are taken, or no game has all its players free."""
        if len(self._running) >= self._slots or not self._waiting:
            return None
        self._look(capacity)
        full = self._full
        freed = None if self._stuck is None else self._freed
        closed = False
        for rule in self._rules() if freed is None or freed else ():
            for name, groups in self._longest() if rule == _LONGEST else self._quickest():
                if name in full or (freed is not None and name not in freed):
                    continue
                for group in groups:
                    if not full.isdisjoint(group):
                        continue
                    if all(capacity(it) > self._playing.get(it, 0) for it in group):
                        game, pairing = next(iter(self._groups[group].items()))
                        self._chosen = (game, rule)
                        return pairing
                    closed = True
        self._stuck = None if closed else frozenset(full)
        self._freed.clear()
        return None

    def _look(self, capacity: Capacity) -> None:
        """See who is busy, of those who began or ended a game.

        If nobody did since the last time, it is a capacity that has changed: then look at all.
        """
        for name in self._changed or self._playing:
            if self._playing.get(name, 0) >= capacity(name):
                self._full.add(name)
                self._freed.discard(name)
            elif name in self._full:
                self._full.discard(name)
                if self._stuck is not None and name in self._stuck:
                    self._freed.add(name)
        self._changed.clear()

    def started(self, game: str) -> None:
        """A game that waited runs now, whether or not it was the next one."""
        pairing = self._waiting[game]
        self._leave(pairing)
        chosen, rule = self._chosen or ("", _LONGEST)
        rule = rule if chosen == game else _LONGEST
        self._running[game] = (pairing, rule)
        self._run_by[rule] += 1
        self._changed.update(pairing.players)
        for name in pairing.players:
            self._playing[name] = self._playing.get(name, 0) + 1
            for players in self._by_pace.values():
                if name in players:
                    players[name] = players.pop(name)

    def finished(self, game: str, seconds: float) -> None:
        """A game runs no longer, and took so long."""
        pairing, rule = self._running.pop(game)
        self._run_by[rule] -= 1
        self._changed.update(pairing.players)
        self._time[rule] += seconds
        for name in pairing.players:
            player = self._players[name]
            player.seconds += seconds
            insort(player.took, seconds)
            self._playing[name] -= 1
            if not self._playing[name]:
                del self._playing[name]
        self._learn(pairing.players, seconds)
        self._rank(pairing.players)

    def remove(self, game: str) -> None:
        """A game waits no longer; nothing if it does not wait."""
        pairing = self._waiting.get(game)
        if pairing is not None:
            self._leave(pairing)
            self._rank(pairing.players)

    # -- what to take

    def _rules(self) -> tuple[int, ...]:
        """The two rules, the one whose turn it is first."""
        longest, quickest = self._run_by
        if (quickest, self._time[_QUICKEST]) < (longest, self._time[_LONGEST]):
            return (_QUICKEST, _LONGEST)
        return (_LONGEST, _QUICKEST)

    def _longest(self) -> Iterable[tuple[str, Iterable[Group]]]:
        """Players and their groups, who has most left to play first."""
        for _, name in self._by_work:
            yield name, self._players[name].groups

    def _quickest(self) -> Iterable[tuple[str, Iterable[Group]]]:
        """Players and their groups of a pace, the quickest pace first."""
        for pace in sorted(self._by_pace):
            yield from self._by_pace[pace].items()

    # -- what is known of groups and players

    def _enter(self, pairing: Pairing) -> None:
        group = frozenset(pairing.players)
        for name in pairing.players:
            if name not in self._players:
                self._players[name] = _Player(len(self._players))
            self._players[name].left += 1
            self._players[name].groups[group] = None
        self._waiting[pairing.game] = pairing
        if group in self._groups:
            self._groups[group][pairing.game] = pairing
        else:
            self._groups[group] = {pairing.game: pairing}
            self._file(group, pairing.players)

    def _leave(self, pairing: Pairing) -> None:
        """Not waiting any more; its players keep their rank until the game has ended."""
        del self._waiting[pairing.game]
        group = frozenset(pairing.players)
        del self._groups[group][pairing.game]
        if not self._groups[group]:
            self._unfile(group)
            del self._groups[group]
        for name in pairing.players:
            player = self._players[name]
            player.left -= 1
            if group not in self._groups:
                del player.groups[group]

    def _pace(self, group: Group) -> tuple[int, int]:
        """A key that sorts groups, those that will be quick first.

        Of those in which nobody is known to be slow, those with somebody quick come first: they
        show whether the others are slow.
        """
        players = [self._players[name] for name in group]
        slowest = max(player.pace if player.is_slow else 0 for player in players)
        return (slowest, min(player.pace for player in players))

    def _file(self, group: Group, order: Iterable[str]) -> None:
        """Put a group with those of its pace."""
        players = self._by_pace.setdefault(self._pace(group), {})
        for name in order:
            players.setdefault(name, {})[group] = None

    def _unfile(self, group: Group) -> None:
        pace = self._pace(group)
        players = self._by_pace[pace]
        for name in group:
            del players[name][group]
            if not players[name]:
                del players[name]
        if not players:
            del self._by_pace[pace]

    def _learn(self, names: Sequence[str], seconds: float) -> None:
        """Look at the paces of those who played so long.

        A long game tells of a slow player only if all others have had one that was far shorter;
        until then its players are taken for quick, so that they are put to the test. A few short
        games tell nothing, since somebody may have failed at once. And as it costs time to move a
        player's groups, its pace is looked at after 1, 2, 4, 8... games.
        """
        for name in names:
            player = self._players[name]
            others = (self._players[other].took[0] for other in names if other != name)
            proven = not player.is_slow and all(2 * quickest < seconds for quickest in others)
            played = len(player.took)
            if proven or not played & (played - 1):
                pace = int(1000 * player.took[played // 16]).bit_length()
                self._set_pace(player, pace, player.is_slow or proven)

    def _set_pace(self, player: _Player, pace: int, is_slow: bool) -> None:
        if (pace, is_slow) == (player.pace, player.is_slow):
            return
        for group in player.groups:
            self._unfile(group)
        player.pace, player.is_slow = pace, is_slow
        for group in player.groups:
            self._file(group, next(iter(self._groups[group].values())).players)

    def _rank(self, names: Iterable[str]) -> None:
        """Put players where they belong by the work that they have left."""
        for name in names:
            player = self._players[name]
            at = bisect_left(self._by_work, (player.work, name))
            if at < len(self._by_work) and self._by_work[at][1] == name:
                del self._by_work[at]
            if player.left:
                mean = player.seconds / len(player.took) if player.took else _UNKNOWN
                player.work = (-player.left * mean, player.number)
                insort(self._by_work, (player.work, name))
