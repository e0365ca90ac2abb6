"""What ``croupier grade`` does: a whole run, from the folder of submissions to the tables."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import click

from croupier_common.render import printable
from croupier_server.app import Stopped, run
from croupier_server.errors import UserError, first_of
from croupier_server.grading.cli_folders import readable_by_all, work_folder
from croupier_server.grading.grader import Grader, Outcome
from croupier_server.grading.grader_results import Results, summary
from croupier_server.grading.isolation.choice import choose, slots
from croupier_server.grading.isolation.model import Isolation
from croupier_server.grading.progress import shown_progress
from croupier_server.grading.results.explain import explain_lines
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.results.problems import problem_of
from croupier_server.grading.rubric import Rubric, dump_rubric, load_rubric
from croupier_server.grading.scoring import grade
from croupier_server.grading.store import Store
from croupier_server.grading.submission import Submission, find_submissions

__all__ = ["Wish", "explain_grades", "grade_all", "run_grading", "write_public"]

RUBRIC: Final = "rubric.toml"
OUT: Final = Path("graded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    submissions: Path | None
    rubric: Path | None
    out: Path | None
    workers: int | None
    isolation: str
    container: str | None
    seed: int | None
    only: tuple[str, ...]
    fresh: bool

    @property
    def source(self) -> Path:
        """Where the submissions are.

        Raises:
            UserError: that was not said.
        """
        if self.submissions is None:
            raise UserError("name the submissions: a folder of them, or . for your own player")
        return self.submissions

    @property
    def results(self) -> Path:
        """Where the results go."""
        return self.out or OUT

    @property
    def rubric_file(self) -> Path:
        """The rubric: the given one, or the one beside the submissions.

        Raises:
            UserError: there is none.
        """
        if self.rubric is not None:
            return self.rubric
        source = self.submissions or Path()
        if not source.exists():
            raise UserError(f"{source}: there is no such file or folder")
        places = [*([source] if source.is_dir() else []), source.absolute().parent, Path()]
        for place in places:
            if (place / RUBRIC).is_file():
                return place / RUBRIC
        raise UserError(f"no {RUBRIC} in {source} or beside it; say where one is: --rubric FILE")

    @property
    def workers_at_once(self) -> int:
        """How many compute at a time: never more than there are cores, but one."""
        most = slots()
        if self.workers is None or self.workers <= most:
            return self.workers or most
        click.echo(
            f"--workers {self.workers}: {most} at a time, as there must be a core for each of "
            "them and one for the grader",
            err=True,
        )
        return most

    @property
    def chosen_isolation(self) -> Isolation:
        """The isolation.

        Raises:
            UserError: it can't be had here.
        """
        if self.container is None:
            return choose(self.isolation)
        try:
            command = shlex.split(self.container)
        except ValueError as problem:
            raise UserError(f"--container: {str(problem).lower()}") from None
        return choose(self.isolation, container=command)


def grade_all(wish: Wish) -> int:
    """Grade submissions; gives the exit code.

    Raises:
        CroupierError: it can't be done.
    """
    source, rubric_file = wish.source, wish.rubric_file
    rubric = load_rubric(rubric_file)
    try:
        outcome = run_grading(wish, source, rubric, rubric_file)
    except Stopped as stopped:
        click.echo(
            f"stopped by {stopped}; the same command goes on from here, with what "
            f"{wish.results} has",
            err=True,
        )
        return 128 + stopped.signum
    _tell(outcome, wish.results)
    return 1 if outcome.faults else 0


def run_grading(
    wish: Wish, source: Path, rubric: Rubric, *secrets: Path, is_one: bool = False
) -> Outcome:
    """Grade submissions, and write all results.

    Args:
        secrets: files that no submission may read.
        is_one: the source is one submission, whatever is in it.

    Raises:
        CroupierError: it can't be done.
        Stopped: a signal has ended it.
    """
    # processes of ours start where we are, and what lies there may be strangers': no module is ours
    os.environ["PYTHONSAFEPATH"] = "1"
    isolation, workers = wish.chosen_isolation, wish.workers_at_once
    not_contained = [*isolation.not_contained, *_exposed(isolation, source, *secrets)]
    out, store = wish.results, Store(wish.results)
    store.make()
    with store.lock():
        if wish.fresh:
            store.forget()
        seed = store.seed(rubric.seed if wish.seed is None else wish.seed)
        store.put_rubric(dump_rubric(rubric))
        _tell_isolation(isolation, not_contained)
        results = Results(out, rubric, isolation, not_contained)
        with work_folder(store) as work, shown_progress() as progress:
            all_found = find_submissions(source, work, is_one=is_one)
            chosen = _chosen(all_found, wish.only)
            grader = Grader(
                rubric=rubric,
                seed=seed,
                submissions=chosen,
                isolation=isolation,
                store=store,
                results=results,
                progress=progress,
                workers=workers,
                has_robin=len(chosen) == len(all_found),
            )
            try:
                outcome = run(grader.run())
            except BaseExceptionGroup as several:
                raise first_of(several) from None
        results.write_all(list(_with_others(outcome, all_found, rubric, store)))
        return outcome


def explain_grades(wish: Wish) -> int:
    """Print how the points of an earlier run came about.

    Raises:
        UserError: there was none, or no such submission in it.
    """
    store = Store(wish.results)
    names = list(store.names())
    if not names:
        raise UserError(f"--out {wish.results}: nothing is graded there yet")
    for name in _checked_names(names, wish.only) if wish.only else names:
        evidence = store.evidence(name)
        if evidence is not None:
            rubric = load_rubric(wish.rubric or store.rubric)
            click.echo("\n".join(explain_lines(grade(rubric, evidence))) + "\n")
    return 0


def write_public(wish: Wish, to: Path) -> int:
    """Write the part of the rubric that students may have.

    Raises:
        UserError: there is none, or that can't be written.
    """
    text = dump_rubric(load_rubric(wish.rubric_file).public())
    if str(to) == "-":
        click.echo(text, nl=False)
        return 0
    try:
        to.write_text(text, encoding="utf-8", newline="\n")
    except OSError as problem:
        raise UserError(f"--public {to}: {problem.strerror}") from None
    click.echo(f"wrote {to}: students grade their own folder with  croupier grade .")
    return 0


# -- which submissions


def _chosen(found: Sequence[Submission], only: Sequence[str]) -> Sequence[Submission]:
    for submission in found:
        if submission.folder is not None:
            submission.folder.chmod(0o700)  # until its own cell is made
    if not only:
        return found
    names = set(_checked_names([one.intake.name for one in found], only))
    return [one for one in found if one.intake.name in names]


def _checked_names(names: Sequence[str], only: Sequence[str]) -> Sequence[str]:
    for name in only:
        if name not in names:
            near = get_close_matches(name, names, 1) or names[:3]
            there = ", ".join(printable(one, 60) for one in near)
            raise UserError(f"--only {printable(name, 60)}: no such submission; there is {there}")
    return [name for name in names if name in only]


def _with_others(
    outcome: Outcome, found: Sequence[Submission], rubric: Rubric, store: Store
) -> Iterator[Graded]:
    """All that were graded now, and of the others what an earlier run has left."""
    graded = {one.grade.name: one for one in outcome.graded}
    for submission in found:
        name = submission.intake.name
        if name in graded:
            yield graded[name]
        elif (kept := store.evidence(name)) is not None:
            yield Graded(grade(rubric, kept), summary(kept))


# -- what is told


def _exposed(isolation: Isolation, *paths: Path) -> Iterator[str]:
    """What programs that run as other users can read, since everybody can."""
    if isolation.name == "users":
        for path in paths:
            if readable_by_all(path):
                yield f"It can read {path}, as every user here can: chmod go-rwx helps."


def _tell_isolation(isolation: Isolation, not_contained: Sequence[str]) -> None:
    click.echo(f"isolation: {isolation.title}")
    for sentence in not_contained:
        click.echo(f"  not contained: {sentence}")


def _tell(outcome: Outcome, out: Path) -> None:
    """The grades at the end: of one submission with the reasons."""
    if len(outcome.graded) == 1:
        click.echo("\n" + "\n".join(explain_lines(outcome.graded[0].grade)))
        click.echo(f"\nreport: {out / outcome.graded[0].grade.name / 'report.html'}")
    else:
        click.echo("\n" + "\n".join(_table(outcome.graded)))
        click.echo(f"\n{len(outcome.graded)} graded; see {out / 'index.html'}")
    for name in outcome.faults:
        click.echo(f"{printable(name, 60)}: a fault of the grader's; see the log", err=True)


def _table(graded: Sequence[Graded]) -> Iterator[str]:
    names = [printable(one.grade.name, 60) for one in graded]
    width = max(map(len, names), default=0)
    for name, one in zip(names, graded, strict=True):
        problem = problem_of(one.evidence)
        told = f"  {problem.title}: {printable(problem.text, 100)}" if problem else ""
        yield f"{name:<{width}}  {one.grade.points:>6g} of {one.grade.of:g}{told}"
