"""Players that speak the course's protocol and play by its strategy, each in a thread."""

from __future__ import annotations

import socket
import string
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from croupier_common.errors import FishError
from croupier_common.grid import tiles_of
from croupier_common.jsontypes import is_array, shown
from croupier_server.course import codec
from croupier_server.course.framing import Broken, Splitter
from croupier_server.course.harnesses import xstrategy
from croupier_server.course.protocol import NAME_LENGTH, VOID, encode
from croupier_server.errors import UserError

__all__ = ["answer", "name_of", "run"]

_HEARD: Final = ("start", "playing-as", "playing-with", "end")
_PLAYED: Final = ("setup", "take-turn")

_RETRY_S: Final = 10.0
"""How long a server may take to come up."""

_PAUSE_S: Final = 0.05
_MAX_CALL: Final = 16 << 20
_RECEIVE: Final = 1 << 16


def run(count: int, host: str, port: int, depth: int, tell: Callable[[str], None]) -> None:
    """Have so many players sign up, one after the other, and play until all connections end.

    Args:
        depth: how many of its turns each looks ahead.
        tell: told, in one line, of a player that was not called to the end.

    Raises:
        UserError: there is no connection to the server.
    """
    until = time.monotonic() + _RETRY_S
    players: list[threading.Thread] = []
    for number in range(count):
        name = name_of(number)
        connection = _connection(host, port, until)
        connection.sendall(encode(name))
        # daemons, so that an interrupt ends the program in the middle of a search
        player = threading.Thread(
            target=_play, args=(connection, name, depth, tell), name=f"player {name}", daemon=True
        )
        player.start()
        players.append(player)
    for player in players:
        player.join()


def name_of(number: int) -> str:
    """The name of the player of that number, from 0: a, b, ... z, aa, ab, ..."""
    letters = string.ascii_lowercase
    name = letters[number % 26]
    while number >= 26:
        number = number // 26 - 1
        name = letters[number % 26] + name
    assert len(name) <= NAME_LENGTH
    return name


def answer(call: object, depth: int) -> Any:
    """What a player answers to a call.

    Raises:
        UserError, FishError: it is no call, or its state can't be.
    """
    name, arguments = codec.pair(call, "a call", "[name, [arguments]]")
    if name in _HEARD:
        return VOID
    if name not in _PLAYED:
        raise UserError(f"no call {shown(name, 40)}")
    if not is_array(arguments) or not arguments:
        raise UserError(f"the arguments of {name} are {shown(arguments, 40)}; a state is expected")
    if name == "take-turn":
        return xstrategy([depth, arguments[0]])
    kernel = codec.state(arguments[0]).kernel()
    for tile in tiles_of(kernel.free):
        return kernel.grid.position(tile).to_json()
    raise UserError("setup: there is no free tile")


def _connection(host: str, port: int, until: float) -> socket.socket:
    """A connection to the server, as soon as it is up.

    Raises:
        UserError: it is not up in time, or can't be.
    """
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=_RETRY_S)
        except ConnectionRefusedError as problem:
            if time.monotonic() > until:
                raise _unreachable(host, port, problem) from None
            time.sleep(_PAUSE_S)
        except OSError as problem:
            raise _unreachable(host, port, problem) from None
        else:
            connection.settimeout(None)  # others may think long
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return connection


def _unreachable(host: str, port: int, problem: OSError) -> UserError:
    reason = (problem.strerror or str(problem)).lower()
    return UserError(f"no connection to {host} port {port}: {reason}")


def _play(connection: socket.socket, name: str, depth: int, tell: Callable[[str], None]) -> None:
    try:
        with connection:
            if not _answer_all(connection, depth):
                tell(f"{name}: the server closed the connection before the end")
    except OSError as problem:
        tell(f"{name}: the connection was lost: {problem.strerror or problem}")
    except (UserError, FishError) as problem:
        tell(f"{name}: gave up: {problem}")


def _answer_all(connection: socket.socket, depth: int) -> bool:
    """Answer every call; whether the last one was that to the end."""
    for call in _calls(connection):
        connection.sendall(encode(answer(call, depth)))
        if is_array(call) and call[0] == "end":
            return True
    return False


def _calls(connection: socket.socket) -> Iterator[object]:
    splitter = Splitter(_MAX_CALL)
    while data := connection.recv(_RECEIVE):
        splitter.receive(data)
        while (found := splitter.next()) is not None:
            if isinstance(found, Broken):
                raise UserError(f"the server sent what is no call: {found.detail}")
            yield found.value
