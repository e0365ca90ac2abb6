"""Games without a network, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from croupier_client.house import ROGUES
from croupier_client.loader import Target, load
from croupier_client.local import Match
from croupier_client.player import Player, View
from croupier_client.show import Detail, Show, Style
from croupier_common.actions import Move, Placement
from croupier_common.board import Board
from croupier_common.board_spec import CLASSIC_BOARD, BoardSpec
from croupier_common.errors import InvalidBoard, InvalidState
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import CLASSIC
from croupier_common.verdict import Phase, Verdict

VERDICTS = {
    "illegal": Verdict.ILLEGAL_ACTION,
    "garbage": Verdict.MALFORMED,
    "silent": Verdict.TIMEOUT,
    "crash": Verdict.ERROR_REPLY,
    "vanish": Verdict.DISCONNECTED,
}


def match(*targets: str, seed: int = 0, **options: object) -> Match:
    found = [load(target) for target in targets]
    return Match(found, seed=seed, warn=pytest.fail, **options)  # type: ignore[arg-type]


def shown(played: Match, detail: Detail, games: int = 1) -> list[str]:
    lines: list[str] = []
    show = Show(played, Style(), detail, lines.append)
    for number in range(games):
        show.result(played.play(number, show.watch))
    show.summary()
    return lines


@pytest.mark.parametrize("players", [2, 3, 4])
def test_game_is_the_same_for_the_same_seed(players: int) -> None:
    names = ["greedy", "random", "minimax:1", "first"][:players]

    games = [match(*names, seed=5).play() for _ in range(2)]

    assert games[0].events == games[1].events
    assert games[0].outcome is not None
    assert games[0].outcome.ejected == ()


def test_game_of_a_match_can_be_played_alone() -> None:
    third = match("greedy", "random", "first", seed=5).play(2)
    alone = match("greedy", "random", "first", seed=7).play()

    assert third.events == alone.events
    assert third.id == alone.id == "7"


def test_seats_go_round_from_game_to_game() -> None:
    played = match("greedy", "random", "first")

    firsts = [played.seats(number)[Color.RED].name for number in range(4)]

    assert firsts == ["greedy", "random", "first", "greedy"]


def test_players_of_one_kind_get_names_that_differ() -> None:
    played = match("greedy", "first", "greedy", "greedy")
    assert [entrant.name for entrant in played.entrants] == [
        "greedy",
        "first",
        "greedy#2",
        "greedy#3",
    ]


def test_classic_game_is_played() -> None:
    game = match("greedy", "random", spec=CLASSIC_BOARD, rules=CLASSIC).play()
    assert game.outcome is not None
    assert sum(game.outcome.fish.values()) <= 100


@pytest.mark.parametrize("kind", ROGUES)
def test_rogue_is_ejected_for_what_it_does_from_its_turn_on(kind: str) -> None:
    game = match(f"rogue:{kind}:6", "greedy", "first").play()

    fault = game.faults[Color.RED]
    own = [told for told in game.events if getattr(told.event, "color", None) is Color.RED]
    assert fault.verdict is VERDICTS[kind]
    assert fault.phase is Phase.MOVEMENT
    assert len(own) == 6  # five turns, and the ejection
    assert game.outcome is not None
    assert game.outcome.ejected == (Color.RED,)


@pytest.mark.parametrize("kind", [kind for kind in ROGUES if kind != "illegal"])
def test_rogue_of_turn_0_fails_at_the_start(kind: str) -> None:
    game = match(f"rogue:{kind}:0", "greedy", "first").play()
    assert game.faults[Color.RED].phase is Phase.GAME_START


def test_hooks_are_called_as_in_a_tournament() -> None:
    heard: list[object] = []

    class Listener(Player):
        def tournament_start(self, names: Sequence[str]) -> None:
            heard.append(list(names))

        def game_start(self, view: View) -> None:
            heard.append(view.you)

        def game_end(self, outcome: Outcome) -> None:
            heard.append(outcome.place(Color.RED) is not None)

        def tournament_end(self, won: bool, winners: Sequence[str]) -> None:
            heard.append((won, winners))

        def place(self, view: View) -> Placement:
            return view.placements[0]

        def move(self, view: View) -> Move:
            return view.moves[0]

    played = Match([Target("Listener", Listener), load("greedy")], warn=pytest.fail)
    played.play()
    played.end(["greedy"])

    assert heard == [["Listener", "greedy"], Color.RED, True, (False, ["greedy"])]


def test_player_that_fails_at_the_tournament_start_is_out_of_all_games() -> None:
    class Broken(Player):
        def tournament_start(self, names: Sequence[str]) -> None:
            raise RuntimeError("no licence")

        def place(self, view: View) -> Placement:
            raise AssertionError

        def move(self, view: View) -> Move:
            raise AssertionError

    warned: list[str] = []
    played = Match([Target("Broken", Broken), load("greedy")], warn=warned.append)

    for number in range(2):
        game = played.play(number)
        assert [fault.detail for fault in game.faults.values()] == ["RuntimeError: no licence"]
        assert game.outcome is not None
    assert len(warned) == 1


def test_match_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidState, match="1 players; a game has 2 to 4"):
        match("greedy")
    with pytest.raises(InvalidState, match="5 players"):
        match(*["greedy"] * 5)
    with pytest.raises(InvalidBoard, match="need 8 tiles"):
        match("greedy", "first", spec=BoardSpec(rows=2, columns=2))


# -- what is shown


def test_moves_are_shown_with_the_last_board_and_the_ranking() -> None:
    board = Board.from_json([[1, 2, 3], [4, 5, 1], [2, 3, 4], [5, 1, 2]])

    lines = shown(match("first", "greedy", spec=BoardSpec(tiles=board)), "moves")

    assert lines[:3] == [
        "game 0 (--seed 0), board 4x3: first (red), greedy (white)",
        "  1  red    [0,0]",
        "  2  white  [1,1]",
    ]
    assert sum("___" in line for line in lines) == 1
    assert lines[-2].startswith("1. ")


def test_every_board_is_shown() -> None:
    played = match("first", "greedy")
    boards = shown(played, "boards")
    plies = [line for line in boards if line[:3].strip().isdigit() and "." not in line[:3]]
    assert sum("\n" in line for line in boards) >= len(plies)


def test_results_are_one_line_a_game_and_a_table() -> None:
    lines = shown(match("rogue:illegal", "greedy"), "results", games=2)
    assert len(lines) == 10
    assert lines[0] == "game 0: 1. greedy 64, rogue:illegal ejected"
    assert lines[1].startswith("rogue:illegal: illegal_action (placement): [5,5] is not legal")
    assert lines[2] == f"  what to do: {Verdict.ILLEGAL_ACTION.fix}"
    assert lines[3].startswith("game 1: ")
    assert lines[6:8] == ["\n2 games", "player           won shared ejected fish/game"]
    assert lines[8].startswith("greedy             2      0       0 ")
    assert lines[9] == "rogue:illegal      0      0       2       0.0"
