"""Running a check: one step after the other, each with a result, all within a limit of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from croupier_client.check.checker import Checker
from croupier_client.check.hosts import Host
from croupier_client.check.links import LinkLost
from croupier_client.check.results import Failed, Findings, Log, Result, Skipped, Status
from croupier_client.check.steps import Step

__all__ = ["run_check"]


async def run_check(
    host: Host,
    log: Log,
    steps: Sequence[Step],
    *,
    target: str,
    budget_ms: int,
    limit_s: float,
    tell: Callable[[Result], None],
) -> Findings:
    """Run steps with the players of a host.

    Args:
        log: the one that the host tells.
        target: what is checked, in words.
        limit_s: how long all may take; what is left then is skipped.
        tell: takes each result as soon as it is there.

    Raises:
        NoPlayer: the host can't get ready.
    """
    findings = Findings(target, budget_ms)
    check = Checker(host, log, budget_ms)
    check.times_ms = findings.times_ms
    began = time.monotonic()
    await host.open()
    try:
        for step in steps:
            left = began + limit_s - time.monotonic()
            result = await _run(check, step, left, limit_s)
            findings.results.append(result)
            tell(result)
        await check.leave()
    finally:
        await host.close()
        findings.took_ms = round((time.monotonic() - began) * 1000)
    return findings


async def _run(check: Checker, step: Step, left_s: float, limit_s: float) -> Result:
    check.log.clear()
    check.warnings.clear()
    began = time.monotonic()

    def result(status: Status, told: str = "", hint: str = "", **more: object) -> Result:
        took_ms = round((time.monotonic() - began) * 1000)
        return Result(step.name, step.group, step.about, status, took_ms, told, hint, **more)  # type: ignore[arg-type]

    if check.hopeless:
        return result(Status.SKIP, check.hopeless)
    try:
        async with asyncio.timeout(left_s):
            await _judged(step, check)
    except Skipped as why:
        return result(Status.SKIP, str(why))
    except TimeoutError:
        check.hopeless = f"the check has taken {limit_s:g} s"
        return result(
            Status.FAIL, check.hopeless, "Have it answer sooner, or give the check more (--limit)."
        )
    except Failed as problem:
        messages, notes = tuple(check.log.messages), check.last_words()
        await check.failed(problem)
        return result(
            Status.FAIL,
            str(problem),
            problem.hint,
            verdict=problem.verdict,
            messages=messages,
            notes=tuple(notes or check.last_words()),
        )
    if check.warnings:
        told, hint = check.warnings[0]
        more = f" (and {len(check.warnings) - 1} more)" if len(check.warnings) > 1 else ""
        return result(Status.WARN, told + more, hint, messages=tuple(check.log.messages))
    return result(Status.PASS)


async def _judged(step: Step, check: Checker) -> None:
    """Take a step, in which a player that has left is at fault."""
    try:
        await step.function(check)
    except LinkLost as lost:
        raise Failed(str(lost), verdict=lost.verdict, breaks=True) from None
