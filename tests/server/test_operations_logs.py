"""Logs: JSON lines that can be collected, and no secrets in either form."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from structlog.contextvars import bound_contextvars

from croupier_server.operations.logs import LogFormat, configure
from croupier_server.options import configure_logs

TOKEN = "s3cr3t-t0k3n"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    configure_logs(verbose=False)


def logged(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def log(log_format: LogFormat = "json", *, verbose: bool = True) -> Any:
    configure(verbose=verbose, log_format=log_format)
    return structlog.get_logger("test")


def test_line_is_an_object_that_begins_with_time_level_and_event(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log().info("player joined", player="ädä\n", players=2)
    (text,) = capsys.readouterr().err.splitlines()
    line = json.loads(text)
    assert list(line)[:3] == ["time", "level", "event"]
    assert line["time"].endswith("Z")
    assert (line["level"], line["event"]) == ("info", "player joined")
    assert (line["player"], line["players"]) == ("ädä\n", 2)


async def test_line_says_which_game_the_task_plays(capsys: pytest.CaptureFixture[str]) -> None:
    logger = log()

    async def play(game: str) -> None:
        with bound_contextvars(tournament="cup", game=game):
            await asyncio.sleep(0)
            logger.info("something", player="ada")

    await asyncio.gather(play("1.1"), play("1.2"))
    logger.info("else")
    lines = logged(capsys)
    assert [line.get("game") for line in lines] == ["1.1", "1.2", None]
    assert [line.get("tournament") for line in lines] == ["cup", "cup", None]


def test_traceback_is_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    logger = log()
    try:
        raise ValueError("boom")
    except ValueError:
        logger.exception("it broke", game="1.1")
    (line,) = logged(capsys)
    assert line["level"] == "error"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: boom")


def test_without_verbose_only_warnings_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    logger = log(verbose=False)
    logger.info("quiet")
    logger.warning("loud")
    assert [line["event"] for line in logged(capsys)] == ["loud"]


def test_what_libraries_log_is_json_too_and_only_once(capsys: pytest.CaptureFixture[str]) -> None:
    log()
    log()
    logging.getLogger("websockets.server").error("handler failed for %s", "x")
    logging.getLogger("websockets.server").info("connection open")
    (line,) = logged(capsys)
    assert line["event"] == "handler failed for x"
    assert (line["level"], line["logger"]) == ("error", "websockets.server")


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize(
    "fields",
    [
        {"token": TOKEN},
        {"session": TOKEN},
        {"sent": f'{{"protocol":1,"token":"{TOKEN}'},
        {"sent": f"{{'session': '{TOKEN}', 'name': 'ada'}}"},
        {"reason": f"can't connect to postgresql://croupier:{TOKEN}@host/cup"},
        {"path": f"/operator?token={TOKEN}&next=/"},
    ],
)
def test_secret_is_hidden_wherever_it_stands(
    fields: dict[str, object], log_format: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    log(log_format).warning("join refused", **fields)
    text = capsys.readouterr().err
    assert "join refused" in text
    assert TOKEN not in text
    assert "(hidden)" in text


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_secret_is_hidden_in_a_traceback(
    log_format: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = log(log_format)
    try:
        raise OSError(f"postgresql://croupier:{TOKEN}@host: connection refused")
    except OSError:
        logger.exception("no database")
    text = capsys.readouterr().err
    assert "connection refused" in text
    assert TOKEN not in text
