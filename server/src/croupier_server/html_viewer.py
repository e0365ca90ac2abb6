"""The replay as one HTML file that needs no server: a record, and the pages' own scripts in it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup

from croupier_common.render import printable

__all__ = ["viewer_html"]

WEB: Final = Path(__file__).parent / "web"

MODULES: Final = ("tree", "rules", "record", "board", "chart", "words", "replay", "drop")
"""The scripts, each after those that it imports."""

STYLES: Final = ("board", "viewer")

_IMPORT: Final = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})


def viewer_html(name: str, text: str) -> str:
    """A page that shows a record, and opens others that are dropped on it.

    Args:
        name: what the record is called.
        text: all of its lines.
    """
    script, style = _bundle(), _styles()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    record = json.dumps({"name": printable(name), "text": text}).translate(_HTML)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(WEB / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("viewer.html").render(
        name=printable(name),
        policy=policy,
        style=Markup(style),  # noqa: S704 - files of ours
        script=Markup(script),  # noqa: S704 - files of ours
        record=Markup(record),  # noqa: S704 - its markup is written as escapes
    )


def _bundle() -> str:
    """The scripts as one, each in a function of its own so that their names don't meet."""
    return "\n".join(_module(name) for name in MODULES)


def _module(name: str) -> str:
    source = (WEB / "static" / f"{name}.js").read_text(encoding="utf-8")
    source = _IMPORT.sub(r"const \1 = in_\2;", source)
    exported = ", ".join(found[1] for found in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1", source)
    if re.search(r"^(?:import|export)\b|</script|<!--", body, re.MULTILINE):
        raise ValueError(f"{name}.js can't be put into a page as it is")
    return f"const in_{name} = (() => {{\n{body}return {{ {exported} }};\n}})();"


def _styles() -> str:
    files = (WEB / "static" / f"{name}.css" for name in STYLES)
    return "".join(file.read_text(encoding="utf-8") for file in files)


def _hash(text: str) -> str:
    """The text as a policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
