"""``croupier verify`` and ``croupier show``: records, checked and printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from croupier_server.errors import UserError

if TYPE_CHECKING:
    from croupier_common.events import Event
    from croupier_common.outcome import Color
    from croupier_common.record import Record

__all__ = ["show", "verify"]

_EXISTING = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=_EXISTING, metavar="FILE_OR_DIR...")
@click.option(
    "--same", is_flag=True, help="Check that two files, or two folders, hold the same games."
)
def verify(paths: tuple[Path, ...], same: bool) -> int:
    """Check records: that nothing was changed, and that all is as rules and seed give it.

    A folder, or an archive that `croupier export` wrote, stands for the records in it. Exit code:
    0 if all records hold, 1 if one does not, 2 for a wrong call.
    """
    if same:
        if len(paths) != 2:
            raise UserError("--same compares two files or two folders")
        return _same(*paths)
    with TemporaryDirectory() as scratch:
        return _verify_all(dict(_named(paths, Path(scratch))))


def _named(paths: Sequence[Path], scratch: Path) -> Iterator[tuple[str, Path]]:
    """The records in files, folders and archives, each with the name that it is called by."""
    for number, path in enumerate(paths):
        if path.suffix.lower() == ".zip" and path.is_file():
            from croupier_server.commands.archive import records_in

            folder = scratch / str(number)
            folder.mkdir()
            yield from ((f"{path}: {file.name}", file) for file in records_in(path, folder))
        else:
            yield from ((str(file), file) for file in _files(path))


def _verify_all(files: Mapping[str, Path]) -> int:
    width = max(map(len, files))
    failed = 0
    for name, file in files.items():
        told, holds = _verify(file)
        failed += not holds
        click.echo(f"{name:<{width}}  {told}")
    if len(files) > 1:
        click.echo(f"{len(files) - failed} of {len(files)} records hold")
    return 1 if failed else 0


def _verify(file: Path) -> tuple[str, bool]:
    from croupier_common.errors import RecordError
    from croupier_common.record import replay

    try:
        record = _read(file)
        game = replay(record)
    except RecordError as problem:
        return f"DAMAGED, {problem}", False
    names = {seat.color: seat.name for seat in record.header.players}
    events = f"{len(record.lines) - 1} events"
    if game.outcome is None:
        return f"ok, {events}, interrupted", True
    winners = ", ".join(names[color] for color in game.outcome.winners) or "nobody"
    return f"ok, {events}, won by {winners}", True


def _same(one: Path, other: Path) -> int:
    """Compare by the games' names where both are folders."""
    from croupier_common.errors import RecordError

    pairs = {"": (one, other)}
    if one.is_dir() and other.is_dir():
        ours = {str(file.relative_to(one)): file for file in _files(one)}
        theirs = {str(file.relative_to(other)): file for file in _files(other)}
        for name in sorted(ours.keys() ^ theirs.keys()):
            click.echo(f"{name}: only in {one if name in ours else other}")
        if ours.keys() != theirs.keys():
            return 1
        pairs = {name: (ours[name], theirs[name]) for name in sorted(ours)}
    different = 0
    for name, (first, second) in pairs.items():
        try:
            digests = _read(first).digest, _read(second).digest
        except RecordError as problem:
            click.echo(f"{name or one}: DAMAGED, {problem}")
            different += 1
            continue
        if digests[0] != digests[1]:
            click.echo(f"{name or f'{one}, {other}'}: different")
            different += 1
    if not different:
        click.echo(f"the same: {len(pairs)} game{'s' * (len(pairs) != 1)}")
    return 1 if different else 0


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--ply", type=click.IntRange(0), help="Only the board after so many plies.")
@click.option("--color/--no-color", default=None, help="Colours, or none [if a terminal].")
@click.option(
    "--html",
    is_flag=True,
    help="Write a page to step through the game instead, as one file for any browser.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where that page goes [FILE with the ending .html].",
)
def show(file: Path, ply: int | None, color: bool | None, html: bool, output: Path | None) -> int:
    """Print a recorded game, ply by ply, as a hexagonal board."""
    from croupier_common.errors import RecordError

    if html:
        if ply is not None:
            raise UserError("--html has all plies; open the page at its end with #ply=N instead")
        return _write_html(file, output or file.with_suffix(".html"))
    if output is not None:
        raise UserError("--output says where --html goes; without that, the game is printed")
    colored = sys.stdout.isatty() if color is None else color
    try:
        pages = list(_pages(file, colored))
    except RecordError as problem:
        click.echo(f"croupier: {file}: DAMAGED, {problem}", err=True)
        return 1
    if ply is not None:
        if ply >= len(pages):
            raise UserError(f"--ply {ply}: {file} has plies 0 to {len(pages) - 1}")
        pages = [pages[ply]]
    click.echo("\n\n".join(pages), color=colored)
    return 0


def _write_html(file: Path, output: Path) -> int:
    from croupier_common.errors import RecordError
    from croupier_common.record import replay
    from croupier_server.html_viewer import viewer_html

    try:
        replay(_read(file))
    except RecordError as problem:
        click.echo(f"croupier: {file}: DAMAGED, {problem}", err=True)
        return 1
    if output.resolve() == file.resolve():
        raise UserError(f"{output} is the record itself; --output says where the page goes")
    page = viewer_html(file.name, file.read_text(encoding="utf-8"))
    try:
        output.write_text(page, encoding="utf-8", newline="\n")
    except OSError as problem:
        raise UserError(f"{output}: {problem.strerror}") from None
    click.echo(f"{output}: open it in a browser")
    return 0


def _pages(file: Path, color: bool) -> Iterator[str]:
    """The start and every ply: the events in words, and the board after them."""
    from croupier_common.record import walk
    from croupier_common.render import render

    record = _read(file)
    names = {seat.color: seat.name for seat in record.header.players}
    for game, events in walk(record):
        assert game.state is not None
        title = f"game {game.id}, after event {len(game.events)}"
        words = [_words(numbered.event, names) for numbered in events]
        yield "\n".join([title, *words, render(game.state, color=color, names=names)])


def _words(event: Event, names: Mapping[Color, str]) -> str:
    """An event as a line: ``red    [0,1] -> [2,1]  +3``."""
    from croupier_common.events import Ended
    from croupier_common.render import event_line

    if isinstance(event, Ended):
        ranking = event.outcome.ranking
        groups = (" = ".join(names[color] for color in group) for group in ranking)
        return f"  the end: {' > '.join(groups) or 'all ejected'}"
    return f"  {event_line(event)}"


def _read(file: Path) -> Record:
    from croupier_common.record import read_record

    with file.open("rb") as lines:
        return read_record(lines)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.rglob("*.jsonl"))
    if not files:
        raise UserError(f"{path}: no records (*.jsonl) in this folder")
    return files
