"""The commands for a player's author: ``check``, and ``replay`` of a moment that went wrong."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from croupier_client.options import FiniteRange

if TYPE_CHECKING:
    from croupier_client.check.hosts import Host
    from croupier_client.check.results import Log, Result

__all__ = ["check", "replay"]

NOT_LEGAL: Final = 3

_COMMAND: Final = "croupier_client.command"


class _WithCommand(click.Command):
    """A command whose arguments behind ``--`` are a program and its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        command: list[str] | None = None
        if "--" in args:
            at = args.index("--")
            args, command = args[:at], args[at + 1 :]
        ctx.meta[_COMMAND] = command
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


@click.command(cls=_WithCommand, short_help="Is it ready for a tournament?")
@click.argument("target", required=False)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="Check a WebSocket client that connects to this port of 127.0.0.1; 0 is any free one.",
)
@click.option(
    "--budget",
    type=click.IntRange(50, 600_000),
    default=2_000,
    show_default=True,
    metavar="MS",
    help="How long each answer may take.",
)
@click.option(
    "--limit",
    type=FiniteRange(min=1),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the whole check may take.",
)
@click.option(
    "--wait",
    type=FiniteRange(min=0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the first connection to --port.",
)
@click.option(
    "--again",
    type=FiniteRange(min=0.1),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for further ones.",
)
@click.option("--only", multiple=True, metavar="STEP", help="Only this step or group; repeatable.")
@click.option("--list", "wants_list", is_flag=True, help="Show the steps, and do nothing.")
@click.option(
    "--json", "json_file", type=click.File("w", encoding="utf-8", lazy=False), metavar="FILE"
)
@click.option(
    "--junit", "junit_file", type=click.File("w", encoding="utf-8", lazy=False), metavar="FILE"
)
@click.pass_context
def check(
    ctx: click.Context,
    target: str | None,
    port: int | None,
    budget: int,
    limit: float,
    wait: float,
    again: float,
    only: tuple[str, ...],
    wants_list: bool,
    json_file: TextIO | None,
    junit_file: TextIO | None,
) -> None:
    """Put a player through some fifty situations of a tournament, and say what is wrong with it.

    \b
        penguin check my_player.py                          a player of the kit
        penguin check -- ./my-player --depth 3              a program on stdin and stdout
        penguin check --port 8000                           a WebSocket client that you start
        penguin check --port 0 -- node player.js {url}      one that is started for each visit

    A WebSocket client without a command has to be started anew for each visit, in a loop: each of
    the last steps needs a connection of its own, and is skipped if there is none.

    Ends with exit code 0 if nothing failed (warnings are allowed), 1 if something did, 2 for a
    wrong option or target. With - for FILE, the report goes to standard output, and the text to
    standard error.
    """  # noqa: D301 - the backslash is click's, which keeps that paragraph as it is
    import asyncio

    from croupier_client.check.report import (
        json_report,
        junit_report,
        result_lines,
        summary_lines,
    )
    from croupier_client.check.results import Log
    from croupier_client.check.runner import run_check
    from croupier_client.check.steps import STEPS, chosen
    from croupier_client.cli import awake

    command: list[str] | None = ctx.meta[_COMMAND]
    try:
        steps = chosen(only)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    width = max(len(step.name) for step in STEPS)
    if wants_list:
        for step in steps:
            click.echo(f"{step.name:<{width}}  {step.about}")
        return
    log = Log()
    reports = [file for file in (json_file, junit_file) if file is not None]
    on_stdout = sum(getattr(file, "name", "<stdout>") == "<stdout>" for file in reports)
    if on_stdout > 1:
        raise click.UsageError("only one of --json and --junit can go to standard output")
    to_stderr = on_stdout > 0
    stream = sys.stderr if to_stderr else sys.stdout
    color = stream.isatty() and "NO_COLOR" not in os.environ
    host, name = _host(target, port, command, log, wait, again)
    group = ""

    def tell(result: Result) -> None:
        nonlocal group
        if result.group != group:
            click.echo(f"{'' if not group else chr(10)}{result.group}", err=to_stderr)
            group = result.group
        for line in result_lines(result, color=color, width=width):
            click.echo(line, err=to_stderr, color=color)

    findings = asyncio.run(
        awake(run_check(host, log, steps, target=name, budget_ms=budget, limit_s=limit, tell=tell))
    )
    click.echo("", err=to_stderr)
    for line in summary_lines(findings):
        click.echo(line, err=to_stderr)
    if json_file is not None:
        json_file.write(json_report(findings))
    if junit_file is not None:
        junit_file.write(junit_report(findings))
    sys.exit(0 if findings.passed else 1)


def _host(
    target: str | None,
    port: int | None,
    command: list[str] | None,
    log: Log,
    wait_s: float,
    again_s: float,
) -> tuple[Host, str]:
    """Where the players come from, and what that is in words.

    Raises:
        UsageError: the arguments say nothing, or too much.
        ClientError: there is no such player or program.
    """
    from croupier_client.check.hosts import KitHost, PortHost, ProgramHost
    from croupier_client.cli import warn
    from croupier_client.loader import load
    from croupier_client.program import find_program

    if command is not None and not command:
        raise click.UsageError("there is no program behind --")
    given = sum((target is not None, port is not None, command is not None and port is None))
    if target is not None and command is not None:
        raise click.UsageError("either a TARGET, or -- and a program, not both")
    if given != 1:
        raise click.UsageError(
            "say what is to be checked: a TARGET, or -- and a program, or --port"
        )
    if command:
        find_program(command[0])
    if port is not None:
        host = PortHost(port, command or [], wait_s=wait_s, again_s=again_s, tell=warn)
        return host, shlex.join(command) if command else f"port {port}"
    if command is not None:
        return ProgramHost(command), shlex.join(command)
    assert target is not None
    return KitHost(load(target), log), target


@click.command(short_help="Run it on a request that it failed on.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("target")
def replay(file: Path, target: str) -> None:
    """Have TARGET answer the request in FILE, a penguin-repro-....json that the kit wrote.

    Shows the board, what TARGET answers, and whether that is legal. It runs without a limit of
    time. Ends with exit code 0 if the answer is legal, 3 if it is not or there is none, 2 if FILE
    or TARGET can't be read.
    """
    import asyncio

    from croupier_client.cli import awake, warn
    from croupier_client.loader import load
    from croupier_client.replay import Replay

    again = Replay.read(file)
    for line in again.story():
        click.echo(line)

    def tell(report: str) -> None:
        warn(report.partition("\nYou are ")[0])  # the board has been shown

    outcome = asyncio.run(awake(again.run(load(target), tell)))
    for line in outcome.lines:
        click.echo(line)
    sys.exit(0 if outcome.is_legal else NOT_LEGAL)
