"""``croupier grade``: build, check and play submissions, and grade them by a rubric."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

__all__ = ["grade"]

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)

LEVELS: Final = ("auto", "bubblewrap", "users", "same-user", "container")


@click.command(short_help="Grade submissions by a rubric.")
@click.argument("submissions", required=False, type=click.Path(path_type=Path))
@click.option("--rubric", type=FILE, metavar="FILE", help="[default: rubric.toml beside them]")
@click.option("--out", type=FOLDER, metavar="DIR", help="Where results go.  [default: graded]")
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="At a time.  [default: cores less one]"
)
@click.option(
    "--isolation",
    type=click.Choice(LEVELS),
    default="auto",
    show_default=True,
    help="What keeps programs from doing harm; auto is the best that works here.",
)
@click.option("--container", metavar="COMMAND", help="What runs a program, for that isolation.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Decides all boards.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this submission; repeatable.")
@click.option("--fresh", is_flag=True, help="Play all again, whatever was played before.")
@click.option(
    "--public", type=FILE, metavar="FILE", help="Write what students may know of the rubric, stop."
)
@click.option("--explain", is_flag=True, help="Print how points came about, without a game.")
@click.option("--gradescope", is_flag=True, help="Run as a Gradescope autograder.")
@click.option(
    "--root", type=FOLDER, default="/autograder", show_default=True, help="That system's folder."
)
@click.option("--verbose", "-v", is_flag=True, help="Log everything on stderr.")
def grade(
    submissions: Path | None,
    rubric: Path | None,
    out: Path | None,
    workers: int | None,
    isolation: str,
    container: str | None,
    seed: int | None,
    only: tuple[str, ...],
    fresh: bool,
    public: Path | None,
    explain: bool,
    gradescope: bool,
    root: Path,
    verbose: bool,
) -> int:
    """Grade SUBMISSIONS: a folder or zip of one player, or a folder of such.

    \b
        croupier grade exports/ --rubric rubric.toml --out graded/
        croupier grade .                                one's own player

    Each is built, checked and played against house players; DIR gets a folder for each with its
    report, and index.html, grades.csv and grades.json for all. A run that was cut off goes on
    where it was.

    Exit code: 0 when all were graded, whatever the grades; 1 if one could not be, for a fault of
    the grader's; 2 for a mistake in what was asked for; 130 after Ctrl-C.
    """  # noqa: D301 - click wants the character itself
    from croupier_server.grading.cli_gradescope import grade_for_gradescope
    from croupier_server.grading.cli_run import Wish, explain_grades, grade_all, write_public
    from croupier_server.options import configure_logs

    configure_logs(verbose)
    wish = Wish(
        submissions=submissions,
        rubric=rubric,
        out=out,
        workers=workers,
        isolation=isolation,
        container=container,
        seed=seed,
        only=only,
        fresh=fresh,
    )
    if public is not None:
        return write_public(wish, public)
    if explain:
        return explain_grades(wish)
    if gradescope:
        return grade_for_gradescope(wish, root)
    return grade_all(wish)
