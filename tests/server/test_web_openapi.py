"""The description of the JSON twins, held to the routes and to what they answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from croupier_server.settings import load_settings
from croupier_server.web.reader import Reader
from croupier_server.web.site import build_site
from support.results import played
from support.web import keep

NOT_READ = ("/openapi.json", "/operator")
"""What is described by itself, or is not for everybody."""

DOCUMENT = Path(__file__).parents[2] / "docs" / "web.md"


async def described(tmp_path: Path) -> tuple[Starlette, dict[str, Any], dict[str, Any]]:
    """The application, its description, and the answers of the twins of this part."""
    keep(tmp_path, [played("1.1.1", "a", "b"), played("1.1.2", "a", "b")], form="swiss")
    reader = await Reader.open(tmp_path)
    app = build_site(reader, load_settings(None, {"storage": {"data": tmp_path}}))
    try:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            document = (await client.get("/openapi.json")).json()
            answers = {
                path: await client.get(path.format(tournament="cup", player="a"))
                for path in document["paths"]
                if path.endswith(".json") and "{game}" not in path
            }
    finally:
        await reader.close()
    return app, document, answers


async def test_every_twin_is_described_and_every_description_has_its_route(tmp_path: Path) -> None:
    app, document, _ = await described(tmp_path)
    routes = [route for route in app.routes if isinstance(route, Route)]
    twins = {
        route.path
        for route in routes
        if route.path.endswith((".json", ".jsonl", "/events"))
        and not route.path.startswith(NOT_READ)
    }
    assert twins <= set(document["paths"])
    for path in document["paths"]:
        example = re.sub(r"\{\w+\}", "x", path)
        assert any(route.path_regex.match(example) for route in routes), path


async def test_twins_answer_with_the_fields_that_are_described(tmp_path: Path) -> None:
    _, document, answers = await described(tmp_path)
    kinds: dict[str, Any] = {
        "string": str,
        "integer": int,
        "boolean": bool,
        "array": list,
        "object": dict,
        "null": type(None),
    }
    assert len(answers) >= 6
    for path, answer in answers.items():
        assert answer.status_code == 200, path
        found = answer.json()
        content = document["paths"][path]["get"]["responses"]["200"]["content"]
        schema = content["application/json"]["schema"]
        assert set(found) == set(schema["required"]), path
        for name, value in found.items():
            told = schema["properties"][name]["type"]
            allowed = [told] if isinstance(told, str) else told
            assert isinstance(value, tuple(kinds[kind] for kind in allowed)), (path, name)


async def test_document_names_all_pages(tmp_path: Path) -> None:
    _, document, _ = await described(tmp_path)
    text = DOCUMENT.read_text(encoding="utf-8")
    told = {
        path.format(tournament="NAME", player="PLAYER", game="GAME")
        for path in document["paths"]
        if path.endswith(".json")
    }
    assert {path for path in told if f"`{path}`" not in text} == set()
