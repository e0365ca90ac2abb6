"""Write docs/settings.md from the settings' own models; `--check` only says whether it is right."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from croupier_server.settings import Settings

PATH = Path(__file__).parent.parent / "docs" / "settings.md"

HEAD = """# Settings of a server

A setting comes from its default, a TOML file (`croupier serve --config FILE`), the environment
(`CROUPIER_SECTION__NAME`, as in `CROUPIER_LOBBY__WAIT_MS=5000`), or an option on the command line;
each of these wins over those before it. In the environment arrays and tables are JSON, and text
needs no quotes: `CROUPIER_GAME__BOARD=6x5,holes=4`. Durations are whole milliseconds. What is
unknown or out of range is refused in one line that names where it came from.

```toml
[lobby]
min_players = 5
wait_ms = 60000

[game]
rules = "classic"
board = "classic"
```

A board can also be a table: `rows`, `columns`, `holes` (a number, or positions), `fish` (a number,
a range `[1, 5]`, or weights `{1 = 3, 2 = 1}`) or `bag` (so many tiles of each number), `one_fish`
(at least so many tiles with one fish), `symmetry` (`none`, `point`, `mirror`), or `tiles` (the
very board, alone). Rules can be a table too: `preset`, and the options that differ from it, which
[protocol.md](../protocol.md) lists.
"""


def main(arguments: list[str]) -> int:
    """Write the page, or compare it: 1 if it is not what it should be."""
    wanted = page()
    if arguments == ["--check"]:
        if PATH.exists() and PATH.read_text(encoding="utf-8") == wanted:
            return 0
        sys.stderr.write("docs/settings.md is stale; run: python tools/settings_doc.py\n")
        return 1
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(wanted, encoding="utf-8")
    return 0


def page() -> str:
    """The page as it should be."""
    parts = [HEAD]
    for section, field in Settings.model_fields.items():
        model = field.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        parts.append(f"\n## `[{section}]`\n\n{model.__doc__}\n\n{_table(model)}")
    return "".join(parts)


def _table(model: type[BaseModel]) -> str:
    lines = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {_default(field)} | {_allowed(field)} | {field.description} |"
        for name, field in model.model_fields.items()
    ]
    return "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    value = field.examples[0] if field.examples else field.default
    return "none" if value is None else f"`{value}`"


def _allowed(field: FieldInfo) -> str:
    choices = list(_choices(field.annotation))
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    low, high = _bounds(field.metadata) or _bounds(_nested(field.annotation)) or (None, None)
    if low is None:
        return ""
    return f"{low} or more" if high is None else f"{low} to {high}"


def _choices(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)


def _nested(annotation: Any) -> list[Any]:
    if isinstance(annotation, UnionType):
        return [m for part in get_args(annotation) for m in _nested(part)]
    return list(annotation.__metadata__) if get_origin(annotation) is Annotated else []


def _bounds(metadata: list[Any]) -> tuple[Any, Any] | None:
    low: object = None
    high: object = None
    for item in metadata:
        low = item.ge if isinstance(item, annotated_types.Ge) else low
        high = item.le if isinstance(item, annotated_types.Le) else high
    return None if low is None else (low, high)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
