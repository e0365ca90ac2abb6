"""The folder of results: written for each submission as it is graded, and for all at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from croupier_server.errors import UserError
from croupier_server.grading.evidence import BlockPlayed, Evidence, Match
from croupier_server.grading.isolation.model import Isolation
from croupier_server.grading.results.classroom import classroom_json
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.results.gradescope import failing_json, gradescope_json
from croupier_server.grading.results.overview_html import overview_html
from croupier_server.grading.results.public_part import public_part
from croupier_server.grading.results.report_html import report_html
from croupier_server.grading.results.tables import grades_csv, grades_json
from croupier_server.grading.results.writing import write_atomic
from croupier_server.grading.rubric import Rubric
from croupier_server.grading.scoring import grade

__all__ = ["Results", "summary"]

NOT_FINISHED: Final = (
    "The grading did not finish: it was cut off, or is still running. This is no judgement on "
    "your program; ask for it to be graded again."
)

_QUANTILES: Final = 31


@dataclass(frozen=True, slots=True)
class Results:
    """Writes what came out, each file whole or not at all.

    Attributes:
        out: where.
    """

    out: Path
    rubric: Rubric
    isolation: Isolation
    not_contained: Sequence[str]

    def folder(self, name: str) -> Path:
        """A submission's own folder; others may not look into it.

        Raises:
            UserError: it can't be made.
        """
        folder = self.out / name
        try:
            folder.mkdir(exist_ok=True, mode=0o700)
            folder.chmod(0o700)
        except OSError as problem:
            raise UserError(f"{folder}: {problem.strerror}") from None
        return folder

    def begin(self, name: str) -> None:
        """Say that a submission is not graded yet, in a valid file, whatever happens from now."""
        self._write(name, "results.json", _json(failing_json(NOT_FINISHED)))

    def begin_all(self, names: Sequence[str]) -> None:
        """Likewise for all of which nothing is there from an earlier run."""
        for name in names:
            if not (self.folder(name) / "results.json").exists():
                self.begin(name)

    def write(self, evidence: Evidence, log: str, public_log: str) -> Graded:
        """Grade a submission, and write all of its files; gives the summary.

        Args:
            log: what it wrote on standard error.
            public_log: of that, what the student may see.
        """
        name = evidence.intake.name
        graded = grade(self.rubric, evidence)
        shown, known = public_part(self.rubric, evidence)
        report = report_html(
            shown,
            known,
            records=_Records.of(known, self.folder(name)),
            log=public_log,
            isolation=self.isolation.title,
            has_more=len(shown.lines) < len(graded.lines),
        )
        self._write(name, "report.html", report)
        self._write(name, "classroom.json", _json(classroom_json(graded)))
        self._write(name, "log.txt", log)
        self._write(name, "build.txt", evidence.built.output if evidence.built else "")
        self._write(name, "results.json", _json(gradescope_json(graded, evidence)), lasts=True)
        return Graded(graded, summary(evidence))

    def write_all(self, graded: Sequence[Graded]) -> None:
        """Write the instructor's files."""
        write_atomic(self.out / "grades.csv", grades_csv(graded))
        write_atomic(self.out / "grades.json", _all_json(graded))
        page = overview_html(
            self.rubric.title,
            graded,
            isolation=self.isolation.title,
            not_contained=self.not_contained,
        )
        write_atomic(self.out / "index.html", page)

    def _write(self, name: str, file: str, text: str, *, lasts: bool = False) -> None:
        write_atomic(self.folder(name) / file, text, lasts=lasts)


def summary(evidence: Evidence) -> Evidence:
    """The same with less to keep: of each match, the think times that stand for all of them."""
    matches = {level: _summary(match) for level, match in evidence.matches.items()}
    return replace(evidence, matches=matches)


def _summary(match: Match) -> Match:
    thinks = sorted(ms for game in match.games for ms in game.thinks_ms)
    if len(thinks) > _QUANTILES:
        last = len(thinks) - 1
        thinks = [thinks[at * last // (_QUANTILES - 1)] for at in range(_QUANTILES)]
    left: list[tuple[int, ...]] = [tuple(thinks)]  # all with the first game
    blocks: list[BlockPlayed] = []
    for block in match.blocks:
        games = [replace(game, thinks_ms=left.pop() if left else ()) for game in block.games]
        blocks.append(replace(block, games=tuple(games)))
    return replace(match, blocks=tuple(blocks))


class _Records(Mapping[str, str]):
    """The records of a submission's games, by the game's id; each is read when it is asked for."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    @classmethod
    def of(cls, evidence: Evidence, folder: Path) -> _Records:
        games = (game for match in evidence.matches.values() for game in match.games)
        return cls({game.game: folder / game.record for game in games if game.record})

    def __getitem__(self, game: str) -> str:
        with suppress(OSError):
            return self._files[game].read_text(encoding="utf-8")
        raise KeyError(game)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _all_json(graded: Sequence[Graded]) -> str:
    """All grades as JSON, made one by one: all of it as objects takes ten times the memory."""
    whole = grades_json(())
    each = [
        json.dumps(found, ensure_ascii=False)
        for one in sorted(graded, key=lambda one: one.grade.name)
        for found in grades_json((one,))["submissions"]
    ]
    submissions = ",\n".join(each)
    return f'{{"version": {whole["version"]}, "submissions": [\n{submissions}\n]}}\n'


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
