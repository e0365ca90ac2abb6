"""The site: all pages with what they share, as an application for any ASGI server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeVar

import jinja2
from sqlalchemy import Connection
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from croupier_server.errors import StorageFailed, UserError
from croupier_server.settings import Settings
from croupier_server.web.desk import HERE, Frame, Job, Page, json_bytes, templates
from croupier_server.web.operator.known import Known, LooksForToken
from croupier_server.web.reader import Reader, Shown
from croupier_server.web.security import Guard
from croupier_server.web.urls import Urls

__all__ = ["Doors", "Page", "Site", "build_site", "json_bytes", "twin"]

T = TypeVar("T")

PAGES: Final = (
    *("pages.home", "pages.tournament", "pages.games", "pages.player", "pages.downloads"),
    *("pages.connect", "pages.game", "live", "pages.play", "pages.replay", "operator.pages"),
    "openapi",
)
"""The modules with routes, each as ``routes(site)``, in the order in which they are tried."""

MAX_BODY: Final = 64 * 1024

_PROBLEMS: Final = {400: "This can't be asked for", 404: "There is no such page"}


@dataclass(frozen=True, slots=True)
class Doors:
    """Where players connect.

    Attributes:
        rooms: the names of the tournaments that can be joined.
        practice: the strategies of the practice room; none if there is no such room.
    """

    host: str
    port: int
    is_tls: bool = False
    rooms: tuple[str, ...] = ()
    practice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """What the pages share.

    Attributes:
        doors: where players connect; None where the pages are shown without a server.
        stopping: set when open answers, such as streams of events, have to come to an end.
        services: what the modules leave here for one another, by name.
    """

    reader: Reader
    settings: Settings
    doors: Doors | None = None
    urls: Urls = field(default_factory=Urls)
    templates: jinja2.Environment = field(default_factory=templates)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    services: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def frame(self) -> Frame:
        """What a process of its own has to know of the site."""
        return Frame(self.urls, frozenset(self.services["pages"]), self.has_operator)

    @property
    def has_operator(self) -> bool:
        """Whether somebody can sign in as the operator."""
        known: Known | None = self.services.get("operator")
        return known is not None and known.is_set

    def has(self, module: str) -> bool:
        """Whether the site has the pages of a module of :data:`PAGES`."""
        return module in self.services["pages"]

    def param(self, request: Request, name: str) -> str:
        """The name of something in the request's path."""
        return self.urls.name(request.path_params[name])

    async def respond(
        self,
        request: Request,
        key: Hashable,
        template: str,
        load: Callable[[Connection], Page],
        *,
        follows_moves: bool = False,
    ) -> Response:
        """A page, or its JSON twin if the path ends so.

        Args:
            key: of the page; equal only for what would be the same page.
            load: gives what is in it, in the database's thread; raises HTTPException for what
                isn't there.
            follows_moves: whether each move changes it.
        """
        as_json = request.url.path.endswith(".json")

        def render(page: Page) -> bytes:
            if as_json:
                return json_bytes(page.to_json())
            return self.html(template, page=page)

        kind = (template, as_json, key, self.has_operator)
        shown = await self.reader.show(kind, load, render, follows_moves=follows_moves)
        return self.answer(request, shown, "application/json" if as_json else "text/html")

    async def respond_apart(
        self,
        request: Request,
        key: Hashable,
        template: str,
        load: Callable[..., Page],
        *,
        follows_moves: bool = False,
    ) -> Response:
        """A page as :meth:`respond` gives it, for what takes long: made by a process of its own.

        Args:
            load: given the connection and the tournaments' views; can be pickled.
            follows_moves: whether each move changes it.
        """
        as_json = request.url.path.endswith(".json")
        job = Job(load, None if as_json else template, self.frame)
        kind = (template, as_json, key, self.has_operator)
        shown = await self.reader.show_apart(kind, job, follows_moves=follows_moves)
        return self.answer(request, shown, "application/json" if as_json else "text/html")

    def html(self, template: str, **context: Any) -> bytes:
        """A page's text by its template; not for the loop, if it is long."""
        return self.templates.get_template(template).render(site=self, **context).encode()

    @staticmethod
    def answer(
        request: Request,
        shown: Shown,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The answer with some content; without it for who has the same already."""
        told = {"ETag": shown.tag, "Cache-Control": "no-cache", **(headers or {})}
        if has_already(request.headers, shown.tag):
            return Response(status_code=304, headers=told)
        return Response(shown.body, media_type=media_type, headers=told)


def build_site(
    reader: Reader,
    settings: Settings,
    *,
    doors: Doors | None = None,
    services: Mapping[str, Any] | None = None,
    stopping: asyncio.Event | None = None,
) -> Starlette:
    """The application with all pages whose modules are there.

    Args:
        services: what modules need that only the server has, by name.
    """
    site = Site(
        reader,
        settings,
        doors,
        services=dict(services or {}),
        stopping=stopping or asyncio.Event(),
    )
    routes: list[BaseRoute] = []
    found: set[str] = set()
    site.services["pages"] = found
    for name in PAGES:
        module = f"{__package__}.{name}"
        if _is_there(module):
            found.add(name)
            routes.extend(import_module(module).routes(site))
    routes.append(Mount("/static", StaticFiles(directory=HERE / "static"), name="static"))
    known = site.services["operator"] = Known(settings)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard), Middleware(LooksForToken, known=known)],
        exception_handlers={
            HTTPException: lambda request, problem: _told(site, request, problem),
            StorageFailed: lambda request, _: _unreadable(site, request),
            UserError: lambda request, _: _unreadable(site, request),
        },
        max_body_size=MAX_BODY,
    )
    app.router.redirect_slashes = False
    app.state.site = site
    return app


def twin(path: str, endpoint: Callable[[Request], Any], name: str) -> list[Route]:
    """The routes of a page and of its JSON twin; the twin first, since `{name}` takes any text."""
    twin_path = f"{path}index.json" if path.endswith("/") else f"{path}.json"
    return [
        Route(twin_path, endpoint, name=f"{name}.json"),
        Route(path, endpoint, name=name),
    ]


def has_already(headers: Headers, tag: str) -> bool:
    """Whether a browser says that it has the content with that tag."""
    given = headers.get("if-none-match", "")
    return tag in {one.strip().removeprefix("W/") for one in given.split(",")}


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def _unreadable(site: Site, request: Request) -> Response:
    return _told(
        site, request, HTTPException(503, "The database can't be read now. Try again in a moment.")
    )


def _told(site: Site, request: Request, problem: Exception) -> Response:
    """A page that names what is wrong."""
    assert isinstance(problem, HTTPException)
    status = problem.status_code
    if status == 404 and problem.detail == "Not Found":
        detail = "Nothing is at this address. The start page has all tournaments."
    else:
        detail = problem.detail
    if request.url.path.endswith(".json"):
        body, media = json_bytes({"error": detail, "status": status}), "application/json"
    else:
        title = _PROBLEMS.get(status, "This did not work")
        body, media = (
            site.html("error.html", title=title, detail=detail, status=status),
            "text/html",
        )
    headers = {**(problem.headers or {}), "Cache-Control": "no-store"}
    return Response(body, status, headers, media)
