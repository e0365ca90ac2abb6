"""axe-core, which finds what keeps people with a screen reader or a keyboard out of a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from support.browser import PATIENCE_MS
from support.needs import require
from support.node import VARIABLE

__all__ = ["axe_source", "new_page_for_axe", "serious_faults"]


def axe_source() -> str:
    """The source of axe-core; skips the test where there is none."""
    places = [Path(__file__).parent.parent / "node" / "node_modules"]
    if named := os.environ.get(VARIABLE):
        places.append(Path(named))
    found = [file for place in places if (file := place / "axe-core" / "axe.min.js").exists()]
    require("node-packages", found, f"axe-core: not in what {VARIABLE} names")
    return found[0].read_text(encoding="utf-8")


def new_page_for_axe(browser: Browser, **options: Any) -> Page:
    """A page at rest: colours on their way to others would be judged half-way."""
    context = browser.new_context(bypass_csp=True, reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


def serious_faults(page: Page, axe: str) -> list[tuple[str, str, list[Any]]]:
    """What axe finds serious: the rule, in words, and where; the page's context is closed."""
    page.add_script_tag(content=axe)
    found: dict[str, Any] = page.evaluate("() => axe.run()")
    page.context.close()
    assert found["passes"]
    return [
        (wrong["id"], wrong["help"], [node["target"] for node in wrong["nodes"]][:3])
        for wrong in found["violations"]
        if wrong["impact"] in {"serious", "critical"}
    ]
