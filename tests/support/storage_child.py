"""What a server does with its database, as a process that can be killed or starved.

    python -m support.storage_child append WHERE      append lines until killed
    python -m support.storage_child fill DIRECTORY    append until the disk is full, then make room
    python -m support.storage_child open WHERE        open it, and say why not

Each line that is reported durable is printed first as its number, or as `game seq`.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from croupier_server.errors import StorageFailed, UserError
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from support.storage import begin_games, stored_lines

GAMES = 8
BALLAST = "ballast"


def place(text: str) -> Path | str:
    """Give a URL as it is, and anything else as a path."""
    return text if "://" in text else Path(text)


def say(*words: object) -> None:
    """Print a line at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def append(where: Path | str) -> None:
    """Append to several games at once, for as long as it goes."""
    async with await Database.open(where) as database:
        games = await begin_games(database, GAMES)

        async def play(game: int) -> None:
            seq = 0
            while True:
                seq += 1
                await database.append(game, [(seq, f"{seq}\n"), (seq + 1, f"{seq + 1}\n")])
                seq += 1
                say(game, seq)

        async with asyncio.TaskGroup() as group:
            for game in games:
                group.create_task(play(game))


async def fill(directory: Path) -> None:
    """Append until that fails, with others waiting; then see what is there after all."""
    (directory / BALLAST).write_bytes(bytes(100_000))
    acknowledged: set[tuple[int, int]] = set()
    failures: list[str] = []
    async with await Database.open(directory / "data") as database:
        games = await begin_games(database, GAMES)

        async def play(game: int) -> None:
            try:
                for seq in range(1, 10_000):
                    await database.append(game, [(seq, "x" * 1_000)])
                    acknowledged.add((game, seq))
            except StorageFailed as problem:
                failures.append(str(problem))

        async with asyncio.TaskGroup() as group:
            for game in games:
                group.create_task(play(game))
        try:
            await database.run(catalogue.tournaments)
        except StorageFailed as problem:
            failures.append(str(problem))
        say(database.failed.is_set())
    (directory / BALLAST).unlink()
    async with await Database.open(directory / "data") as database:
        stored = {(game, seq) for game in games for seq in await stored_lines(database, game)}
    say(len(failures), len(acknowledged) > 0, acknowledged <= stored, len(stored - acknowledged))
    say(*sorted(set(failures)))


async def try_to_open(where: Path | str) -> None:
    """Open it, and say what comes of it."""
    try:
        async with await Database.open(where):
            say("open")
    except UserError as problem:
        say(problem)


def main(arguments: Sequence[str]) -> None:
    """Do what is asked for."""
    what, where = arguments
    match what:
        case "append":
            asyncio.run(append(place(where)))
        case "fill":
            asyncio.run(fill(Path(where)))
        case _:
            asyncio.run(try_to_open(place(where)))


if __name__ == "__main__":
    main(sys.argv[1:])
