"""``croupier verify`` and ``croupier show``: records, checked and printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING

import click

from croupier_server.errors import UserError

if TYPE_CHECKING:
    from croupier_common.errors import RecordError
    from croupier_common.events import Event
    from croupier_common.outcome import Color
    from croupier_common.record import Record

__all__ = ["show", "verify"]

_EXISTING = click.Path(path_type=Path, exists=True)
_TWO = "--same compares two files or two folders (an archive counts as a folder)"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=_EXISTING, metavar="FILE_OR_DIR...")
@click.option(
    "--same",
    is_flag=True,
    help="Check that two files, or two folders or archives, hold the same games.",
)
def verify(paths: tuple[Path, ...], same: bool) -> int:
    """Check records: that nothing was changed, and that all is as rules and seed give it.

    A folder, or an archive that `croupier export` wrote, stands for the records in it. Exit code:
    0 if all records hold, 1 if one does not, 2 for a wrong call.
    """
    if same and len(paths) != 2:
        raise UserError(_TWO)
    with TemporaryDirectory() as scratch:
        if same:
            return _same(paths[0], paths[1], Path(scratch))
        return _verify_all(dict(_named(paths, Path(scratch))))


def _named(paths: Sequence[Path], scratch: Path) -> Iterator[tuple[str, Path]]:
    """The records in files, folders and archives, each with the name that it is called by."""
    for path in paths:
        if _is_archive(path):
            yield from ((f"{path}: {name}", file) for name, file in _inside(path, scratch).items())
        elif path.is_dir():
            yield from ((str(file), file) for file in _inside(path, scratch).values())
        else:
            yield str(path), path


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() == ".zip" and path.is_file()


def _inside(path: Path, scratch: Path) -> Mapping[str, Path]:
    """The records of a folder or an archive by their names in it, sorted.

    Raises:
        UserError: there are none, or the archive can't be read.
    """
    if _is_archive(path):
        from croupier_server.commands.archive import records_in

        return records_in(path, Path(mkdtemp(dir=scratch)))
    files = [file for file in sorted(path.rglob("*.jsonl")) if not file.is_dir()]
    if not files:
        raise UserError(f"{path}: no records (*.jsonl) in this folder")
    return {file.relative_to(path).as_posix(): file for file in files}


def _verify_all(files: Mapping[str, Path]) -> int:
    shown = {name: _printable(name) for name in files}
    width = max(map(len, shown.values()))
    failed = 0
    for name, file in files.items():
        told, holds = _verify(file)
        failed += not holds
        click.echo(f"{shown[name]:<{width}}  {told}")
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
        return _damaged(problem), False
    events = f"{len(record.lines) - 1} events"
    if game.outcome is None:
        return f"ok, {events}, interrupted", True
    names = _names(record)
    winners = ", ".join(names[color] for color in game.outcome.winners) or "nobody"
    return f"ok, {events}, won by {winners}", True


def _same(one: Path, other: Path, scratch: Path) -> int:
    """Compare by the games' names where both are folders or archives."""
    pairs = {"": (one, other)}
    are_many = [path.is_dir() or _is_archive(path) for path in (one, other)]
    if any(are_many):
        if not all(are_many):
            raise UserError(f"{_TWO}; {one} and {other} are one of each")
        ours, theirs = _inside(one, scratch), _inside(other, scratch)
        for name in sorted(ours.keys() ^ theirs.keys()):
            click.echo(f"{_printable(name)}: only in {one if name in ours else other}")
        if ours.keys() != theirs.keys():
            return 1
        pairs = {name: (ours[name], theirs[name]) for name in ours}
    different = 0
    for name, files in pairs.items():
        problem = _difference(name, files, (one, other))
        if problem is not None:
            click.echo(problem)
            different += 1
    if not different:
        click.echo(f"the same: {len(pairs)} game{'s' * (len(pairs) != 1)}")
    return 1 if different else 0


def _difference(name: str, files: tuple[Path, Path], given: tuple[Path, Path]) -> str | None:
    """What is wrong with two records that should be of one game, in a line; None if nothing is."""
    from croupier_common.errors import RecordError

    digests: list[str] = []
    for file, path in zip(files, given, strict=True):
        try:
            digests.append(_read(file).digest)
        except RecordError as problem:
            return f"{_printable(f'{path}: {name}' if name else str(path))}: {_damaged(problem)}"
    if digests[0] == digests[1]:
        return None
    return f"{_printable(name or f'{given[0]}, {given[1]}')}: different"


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
        click.echo(f"croupier: {file}: {_damaged(problem)}", err=True)
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
        click.echo(f"croupier: {file}: {_damaged(problem)}", err=True)
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
    names = _names(record)
    played = len(record.lines) - 1 - record.is_interrupted  # without the header, and its footer
    for game, events in walk(record):
        assert game.state is not None
        title = f"game {_printable(game.id)}, after event {len(game.events)}"
        words = [_words(numbered.event, names) for numbered in events]
        if record.is_interrupted and len(game.events) == played:
            words.append("  interrupted: the game was not played to its end")
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

    try:
        with file.open("rb") as lines:
            return read_record(lines)
    except OSError as problem:
        raise UserError(f"{file}: can't be read: {problem.strerror or problem}") from None


def _names(record: Record) -> Mapping[Color, str]:
    """The players' names, fit for a terminal: whoever made the record may have made them up."""
    from croupier_common.render import printable

    return {seat.color: printable(seat.name, 32) for seat in record.header.players}


def _printable(text: str) -> str:
    from croupier_common.render import printable

    return printable(text, 1_000)


def _damaged(problem: RecordError) -> str:
    """What is wrong with a record, and where; what it quotes of it may be anything."""
    return f"DAMAGED, {_printable(str(problem))}"
