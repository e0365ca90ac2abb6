"""How logs are written: lines for people, or JSON for whatever collects them; never a secret."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, Final, Literal, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor

__all__ = ["LogFormat", "configure", "without_secrets"]

LogFormat = Literal["text", "json"]

_SECRET_NAMES: Final = frozenset(
    {"authorization", "cookie", "password", "secret", "session", "token", "token_hash"}
)

HIDDEN: Final = "(hidden)"

_SECRETS: Final = (
    # what players send, as JSON or as Python shows it; cut off in the middle, too
    re.compile(r"""(["'](?:token|session|password)["']\s*:\s*["'])[^"']*"""),
    re.compile(r"((?:token|session|password)=)[^\s&,;)'\"]+"),
    re.compile(r"(\w+://[^\s:/@]*:)[^\s/@]*(?=@)"),  # the password in an address
    re.compile(r"((?:nats|tls)://)[^\s:/@]+(?=@)"),  # the token in one of NATS
)


class _Stderr:
    """Whatever stderr is when something is written."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure(*, verbose: bool, log_format: LogFormat = "text") -> None:
    """Log to stderr: warnings and worse, or everything.

    In JSON each line is an object with ``time``, ``level``, ``event`` and what belongs to it; then
    what libraries log is written so too.
    """
    level = logging.INFO if verbose else logging.WARNING
    written = _json() if log_format == "json" else _text()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[*_common(log_format), *written],
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Stderr())),
        cache_logger_on_first_use=True,
    )
    _take_library_logs(level if log_format == "json" else None)


def without_secrets(_logger: object, _method: str, event: EventDict) -> EventDict:
    """What is logged, with secrets hidden: by their names, and within what players sent."""
    return {
        name: HIDDEN if name in _SECRET_NAMES and value else _cleaned(value)
        for name, value in event.items()
    }


def _cleaned(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for secret in _SECRETS:
        value = secret.sub(rf"\1{HIDDEN}", value)
    return value


def _common(log_format: LogFormat) -> list[Processor]:
    key = "time" if log_format == "json" else "timestamp"
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key=key),
    ]


def _text() -> list[Processor]:
    # a plain traceback: richer ones show local variables, and tokens among them
    renderer = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    return [structlog.processors.format_exc_info, without_secrets, renderer]


def _json() -> list[Processor]:
    return [
        structlog.processors.format_exc_info,  # the field `exception`, as text
        without_secrets,
        _in_order,
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    ]


def _in_order(_logger: object, _method: str, event: EventDict) -> EventDict:
    """What every line has comes first."""
    first = {name: event[name] for name in ("time", "level", "event") if name in event}
    return {**first, **event}


class _Handler(logging.StreamHandler[Any]):
    """The one that is ours among those of the standard library's root logger."""


def _take_library_logs(level: int | None) -> None:
    """Write what libraries log as our own lines; None to leave it to the standard library."""
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(handler)
    if level is None:
        return
    handler = _Handler(cast("TextIO", _Stderr()))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_common("json"), _named],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_json()],
        )
    )
    handler.setLevel(max(level, logging.WARNING))  # they are chatty
    root.addHandler(handler)


def _named(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Which library said it."""
    record = event.get("_record")
    if isinstance(record, logging.LogRecord):
        event["logger"] = record.name
    return event
