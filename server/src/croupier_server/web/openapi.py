"""The description of the JSON twins (OpenAPI 3.1), and the route to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_server import __version__

if TYPE_CHECKING:
    from croupier_server.web.site import Site

__all__ = ["PAGE_AND_SIZE", "Operation", "document", "routes"]


@dataclass(frozen=True, slots=True)
class Operation:
    """What can be asked for at a path; a module of pages has them as ``OPERATIONS``.

    Attributes:
        path: with its parameters in braces.
        summary: what it gives.
        properties: the fields of its JSON, each with its type and what it says.
        query: the query's parameters, each with its type and what it chooses.
        media_type: what it is, if it is no JSON.
    """

    path: str
    summary: str
    properties: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    query: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    media_type: str = "application/json"

    def to_json(self) -> dict[str, Any]:
        """The operation as OpenAPI has it."""
        schema: dict[str, Any] = {"type": "string"}
        if self.media_type == "application/json":
            schema = {
                "type": "object",
                "properties": {name: _typed(*told) for name, told in self.properties.items()},
                "required": list(self.properties),
            }
        return {
            "summary": self.summary,
            "parameters": [
                *(_in_path(name) for name in _names(self.path)),
                *(_in_query(name, *told) for name, told in self.query.items()),
            ],
            "responses": {
                "200": {
                    "description": self.summary,
                    "content": {self.media_type: {"schema": schema}},
                },
                "304": {"description": "It is what If-None-Match says is there already."},
                "400": {"$ref": "#/components/responses/problem"},
                "404": {"$ref": "#/components/responses/problem"},
                "503": {"$ref": "#/components/responses/problem"},
            },
        }


PAGE_AND_SIZE: Final = {
    "page": ("integer", "Which page of the list, from 1."),
    "size": ("integer", "How many on a page, from 1 to 200."),
}

_ABOUT_PATH: Final = {
    "tournament": "The tournament's name.",
    "player": "The player's name.",
    "game": "The game's name, such as 1.1, or 1.1-2 where it was played again.",
}

_PROBLEM: Final = {
    "description": "It can't be had; says why.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"error": {"type": "string"}, "status": {"type": "integer"}},
                "required": ["error", "status"],
            }
        }
    },
}


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Croupier's pages",
            "version": __version__,
            "summary": "What is on, standings, games and records: each page as JSON.",
            "description": "Only reads, and needs no key. In a path, ~ and two hexadecimal digits "
            "stand for a character of a name that can't be there: ~2F is a slash.",
        },
        "paths": {one.path: {"get": one.to_json()} for one in operations},
        "components": {"responses": {"problem": _PROBLEM}},
    }


def routes(site: Site) -> list[Route]:
    """The route to the description of all pages that the site has."""
    operations: list[Operation] = []
    for name in site.services["pages"]:
        operations.extend(getattr(import_module(f"{__package__}.{name}"), "OPERATIONS", ()))
    content = document(sorted(operations, key=lambda one: one.path))

    async def describe(request: Request) -> Response:
        from croupier_server.web.reader import Shown
        from croupier_server.web.site import json_bytes

        return site.answer(request, Shown.of(json_bytes(content)), "application/json")

    return [Route("/openapi.json", describe, name="openapi")]


def _names(path: str) -> list[str]:
    return [part[1:].partition("}")[0] for part in path.split("/") if part.startswith("{")]


def _typed(kind: str, about: str) -> dict[str, Any]:
    nullable = kind.removesuffix("?")
    return {"type": [nullable, "null"] if nullable != kind else kind, "description": about}


def _in_path(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": _ABOUT_PATH.get(name, name),
        "schema": {"type": "string"},
    }


def _in_query(name: str, kind: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": {"type": kind}}
