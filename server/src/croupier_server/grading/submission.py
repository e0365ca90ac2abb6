"""Submissions, found in what was handed in: each one taken in by itself, whatever the others are.

A submission is a folder, a zip, or a Python file with a player of the kit; a source is one of them,
or a folder of them, as learning-management systems export it. A source is a submission itself if
it has a player.toml at its top, or a player of the kit there and no other submission beside it.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from croupier_common.render import printable
from croupier_server.errors import BadSubmission, UserError
from croupier_server.grading.evidence import FAULT, Intake
from croupier_server.grading.filling import Filling, bad_entry, is_litter
from croupier_server.grading.manifest import (
    MANIFEST,
    Manifest,
    has_player,
    is_player_file,
    read_manifest,
)
from croupier_server.grading.mending import digest_of, mend
from croupier_server.grading.naming import names_of
from croupier_server.grading.unpack import check_links, copy_file, copy_folder, unpack_zip

__all__ = ["Submission", "find_submissions"]

log = structlog.get_logger(__name__)

_MOST_ENTERED: Final = 8
_MOST_ZIPS: Final = 2
_KEPT: Final = ".grading"
"""The folder in results of ours, by which these are known."""

_NOT_HANDED_IN: Final = frozenset(
    {".md", ".csv", ".tsv", ".toml", ".yml", ".yaml", ".json", ".html", ".xlsx"}
)
"""What lies beside the submissions in an export or a course's folder."""

_OURS: Final = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EROFS),
        *(errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    }
)
"""What no submission is to blame for."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that was taken in.

    Attributes:
        intake: what there is to say of that.
        folder: our copy of it; None if it has a problem.
        manifest: how it is built and started; likewise.
    """

    intake: Intake
    folder: Path | None
    manifest: Manifest | None


def find_submissions(source: Path, work: Path, *, is_one: bool = False) -> Sequence[Submission]:
    """The submissions in a source, in the order of their names.

    Args:
        source: a submission, or a folder of them.
        work: an empty folder; NAME in it becomes our copy of the submission of that name.
        is_one: the source is one submission, whatever is in it.

    Raises:
        UserError: there is no such source, nothing in it, or no room for copies.
    """
    finding = _Finding(source, work)
    entries = [finding.source] if is_one else finding.entries()
    names = names_of([entry.name for entry in entries])
    found = [finding.take_in(entry, names[entry.name]) for entry in entries]
    return sorted(found, key=lambda submission: submission.intake.name.casefold())


class _Finding:
    """The search in one source."""

    def __init__(self, source: Path, work: Path) -> None:
        if not source.exists():
            raise UserError(f"no submissions: there is no {source}")
        self.source = source.resolve()
        self._work = work.resolve()
        self._why_one = ""

    # -- what there is

    def entries(self) -> Sequence[Path]:
        """The source itself, or what in it is a submission or may have been meant as one."""
        try:
            if not self.source.is_dir():
                return [self.source]
            self._why_one = self._is_one()
            if self._why_one:
                return [self.source]
            found = sorted(filter(self._is_handed_in, self.source.iterdir()))
        except OSError as problem:
            raise UserError(f"can't read {self.source}: {problem.strerror}") from None
        if not found:
            raise UserError(
                f"no submissions in {self.source}: it has no {MANIFEST}, no Python file with a "
                f"player, no zip and no folder"
            )
        return found

    def _is_one(self) -> str:
        """Why the source is taken for one submission; empty if it is not."""
        if (self.source / MANIFEST).exists():
            return f"it has a {MANIFEST}"
        beside = list(self.source.iterdir())
        players = [path for path in beside if is_player_file(path)]
        if len(players) == 1 and not any(map(self._is_other, beside)):
            return f"it has a player in {players[0].name}, and no other submission beside it"
        return ""

    def _is_other(self, path: Path) -> bool:
        """Whether something beside a player in Python is a submission of its own."""
        if path.is_symlink() or is_litter(path.name):
            return False
        try:
            return _is_zip(path) or (path.is_dir() and not self._is_ours(path) and has_player(path))
        except OSError:  # who can't be looked into is no reason to take all for one
            return True

    def _is_handed_in(self, path: Path) -> bool:
        if is_litter(path.name) or path.name.startswith("."):
            return False
        if path.is_dir() and not path.is_symlink():
            return not self._is_ours(path) and not path.name.endswith("_onlinetext_")
        return path.suffix.lower() not in _NOT_HANDED_IN

    def _is_ours(self, folder: Path) -> bool:
        """Whether a folder is not part of a source: it has results of ours, or will have.

        A player's own folder is part of it, also if its author has had results written there.
        """
        with suppress(OSError):  # who can't be looked into is somebody's
            if self._work.is_relative_to(folder):
                return True
            return (folder / _KEPT).is_dir() and not has_player(folder)
        return False

    # -- taking it in

    def take_in(self, entry: Path, name: str) -> Submission:
        """One submission; what is wrong with it is said in its intake.

        Raises:
            UserError: there is no room for it.
        """
        staging = self._work / f"{name}.part"  # no name has a dot
        try:
            staging.mkdir()
            return self._taken(entry, name, staging)
        except BadSubmission as problem:
            told = str(problem)
        except OSError as problem:
            if problem.errno in _OURS:
                told = f"can't copy {entry} to {self._work}: {problem.strerror}"
                raise UserError(told) from None
            told = f"{printable(Path(problem.filename or entry).name, 100)}: {problem.strerror}"
        except Exception:  # one of them never keeps the others from their grades
            log.exception("a submission could not be taken in", submission=name)
            told = FAULT
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        intake = Intake(name, name, printable(entry.name, 200), problem=told)
        return Submission(intake, None, None)

    def _taken(self, entry: Path, name: str, staging: Path) -> Submission:
        filling = Filling(staging / "as it came")
        self._fill(filling, entry)
        root, notes = _entered(filling.root, staging)
        check_links(root)
        notes += mend(root)
        if filling.left_out:
            notes.append(f"left out: {', '.join(sorted(filling.left_out))}")
        if self._why_one:
            notes.append(f"the folder itself was taken for the submission: {self._why_one}")
        manifest = read_manifest(root)
        source, digest = printable(entry.name, 200), digest_of(root)
        folder = root.rename(self._work / name)
        intake = Intake(name, manifest.name, source, notes=tuple(notes), digest=digest)
        return Submission(intake, folder, manifest)

    def _fill(self, filling: Filling, entry: Path) -> None:
        if entry.is_symlink():
            raise bad_entry(entry.name, "a link; hand in what it leads to")
        if entry.is_dir():
            copy_folder(entry, filling, skips=self._is_ours)
        elif _is_zip(entry):
            unpack_zip(entry, filling)
        elif entry.suffix.lower() == ".py":
            copy_file(entry, filling)
        else:
            raise bad_entry(entry.name, "neither a folder, a zip nor a Python file; hand in a zip")
        filling.finish()


def _entered(folder: Path, staging: Path) -> tuple[Path, list[str]]:
    """Where in what came the player is, and what was entered on the way."""
    notes, zips = list[str](), 0
    for _ in range(_MOST_ENTERED):
        way = None if has_player(folder) else _only_way(folder)
        if way is None:
            break
        if not _is_zip(way):
            folder = way
        elif zips < _MOST_ZIPS:
            zips += 1
            filling = Filling(staging / f"zip {zips}")
            unpack_zip(way, filling)
            filling.finish()
            folder = filling.root
        else:
            break
        notes.append(f"{way.name} was entered")
    return folder, notes


def _only_way(folder: Path) -> Path | None:
    """The only folder or zip in a folder without a player, or the only one that has a player."""
    inside = [path for path in sorted(folder.iterdir()) if not path.is_symlink()]
    ways = [path for path in inside if path.is_dir() or _is_zip(path)]
    if len(ways) > 1:
        ways = [path for path in ways if path.is_dir() and has_player(path)]
    return ways[0] if len(ways) == 1 else None


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip" and path.is_file() and not path.is_symlink()
