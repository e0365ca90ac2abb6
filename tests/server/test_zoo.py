"""The zoo without a tournament: its illegal actions, each of the kind that its name says, and its
command against what is no croupier."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from random import Random

import pytest
from click.testing import CliRunner, Result
from websockets.asyncio.server import ServerConnection, serve

from croupier_common.actions import Action, move_from_json, placement_from_json
from croupier_common.board_spec import BoardSpec
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_common.state import Stage, State, why_illegal
from croupier_server.errors import UserError
from croupier_server.zoo.check import check
from croupier_server.zoo.stray import MOVES, PLACEMENTS, stray_action

REASONS = {
    "outside": r"\] is outside the board",
    "negative": r"\[-1,-1\] is outside the board",
    "huge": r"\[10{18},10{18}\] is outside the board",
    "hole": "is a hole",
    "taken": "a (red|white|brown) penguin stands on",
    "same": "at least one step",
    "out-of-line": "is not in a straight line",
    "occupied": ": a (red|white|brown) penguin stands on",
    "through": "something stands or a tile is missing between",
    "foreign": ": no (red|white|brown) penguin stands on",
    "nobody": ": no (red|white|brown) penguin stands on",
}


def states(rules: Rules) -> Iterator[State]:
    """Every state of some random games."""
    for seed in range(20):
        draws = Random(seed)
        board = BoardSpec.from_text("6x5,holes=4,fish=1-2").build(seed, rules=rules, players=3)
        state = State.begin(board, (Color.RED, Color.WHITE, Color.BROWN), rules)
        while not state.is_over:
            yield state
            state = state.apply(draws.choice(list(state.legal_actions)))


@pytest.mark.parametrize("rules", [FISH, CLASSIC], ids=["fish", "classic"])
def test_illegal_action_is_of_its_kind_and_has_the_right_form(rules: Rules) -> None:
    seen: dict[tuple[Stage, str], int] = {}
    for state in states(rules):
        placing = state.stage is Stage.PLACEMENT
        for kind in PLACEMENTS if placing else MOVES:
            said = stray_action(state, kind)
            if said is None:
                continue
            action: Action = placement_from_json(said) if placing else move_from_json(said)
            assert action not in state.legal_actions
            assert re.search(REASONS[kind], why_illegal(state, action))
            seen[state.stage, kind] = seen.get((state.stage, kind), 0) + 1
    assert set(seen) == {
        *((Stage.PLACEMENT, kind) for kind in PLACEMENTS),
        *((Stage.MOVEMENT, kind) for kind in MOVES),
    }


async def test_command_against_a_server_that_only_hangs_up_does_not_wait() -> None:
    async def hangs_up(socket: ServerConnection) -> None:
        await socket.close(1001)

    async with serve(hangs_up, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with asyncio.timeout(20):
            done = await asyncio.to_thread(run, f"ws://127.0.0.1:{port}", "--only", "hangs-up")
    assert "WRONG  hangs-up             did nothing, and was closed with code 1001" in done.output
    assert "0 of 3 ended as they should" in done.output


async def test_command_against_what_speaks_no_websocket_says_so() -> None:
    async def speaks_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speaks_http, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        done = await asyncio.to_thread(run, f"ws://127.0.0.1:{port}")
    assert isinstance(done.exception, UserError)
    assert "can't reach ws://127.0.0.1" in str(done.exception)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, [*arguments, "--honest", "2"], standalone_mode=False)
