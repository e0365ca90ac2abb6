"""Pages in one HTML file that need no server: their scripts, styles and data are in the file.

A policy in each names the very script and style that it has, by their hashes, so that nothing else
runs there, whatever a name or a log has in it; and nothing is ever loaded or sent.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

__all__ = ["WEB", "OneFile", "embedded"]

WEB: Final = Path(__file__).parent / "web"

_IMPORT: Final = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})


@dataclass(frozen=True, slots=True)
class OneFile:
    """A kind of page in one file.

    Attributes:
        template: its file's name; it is given `policy`, `style` and `script`.
        modules: the pages' own scripts that it needs, each after those that it imports.
        styles: the pages' own styles, in the order in which they overrule each other.
        folder: where its template is.
        filters: what the template calls things by, beside Jinja's own filters.
    """

    template: str
    modules: tuple[str, ...]
    styles: tuple[str, ...]
    folder: Path = WEB / "templates"
    filters: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict[str, Callable[..., Any]], hash=False
    )

    def render(self, **given: object) -> str:
        """The page, with what its template is to show."""
        script, style = _bundle(self.modules), _styles(self.styles)
        policy = (
            f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
            "base-uri 'none'; form-action 'none'"
        )
        return (
            _environment(self)
            .get_template(self.template)
            .render(
                given,
                policy=policy,
                style=Markup(style),  # noqa: S704 - files of ours
                script=Markup(script),  # noqa: S704 - files of ours
            )
        )


def embedded(value: object) -> Markup:
    """A value as JSON that can stand in a script element: its markup is written as escapes."""
    return Markup(json.dumps(value).translate(_HTML))  # noqa: S704 - see above


@cache
def _environment(page: OneFile) -> jinja2.Environment:
    """What makes pages of a kind: there may be hundreds of them, one after the other."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(page.folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(page.filters)
    return environment


@cache
def _bundle(modules: tuple[str, ...]) -> str:
    """The scripts as one, each in a function of its own so that their names don't meet."""
    return "\n".join(_module(name) for name in modules)


def _module(name: str) -> str:
    source = (WEB / "static" / f"{name}.js").read_text(encoding="utf-8")
    source = _IMPORT.sub(r"const \1 = in_\2;", source)
    exported = ", ".join(found[1] for found in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1", source)
    if re.search(r"^(?:import|export)\b|</script|<!--", body, re.MULTILINE):
        raise ValueError(f"{name}.js can't be put into a page as it is")
    return f"const in_{name} = (() => {{\n{body}return {{ {exported} }};\n}})();"


@cache
def _styles(names: tuple[str, ...]) -> str:
    files = (WEB / "static" / f"{name}.css" for name in names)
    return "".join(file.read_text(encoding="utf-8") for file in files)


def _hash(text: str) -> str:
    """The text as a policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
