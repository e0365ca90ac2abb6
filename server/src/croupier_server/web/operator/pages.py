"""The operator's pages: signing in, how tournaments stand, and orders to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from croupier_common.render import printable
from croupier_server.commands.giving import give
from croupier_server.commands.places import Place, safe
from croupier_server.errors import UserError
from croupier_server.storage import catalogue
from croupier_server.web.operator import admission
from croupier_server.web.operator.auth import SESSION, VISITOR, Gate, TooOften, Visit
from croupier_server.web.operator.download import archive_of, discard
from croupier_server.web.operator.forms import AdmitForm, OrderForm
from croupier_server.web.operator.now import now_job, playing
from croupier_server.web.operator.sessions import Notice
from croupier_server.web.pages import home
from croupier_server.web.paging import Paging

if TYPE_CHECKING:
    from croupier_server.lobby import SignUps
    from croupier_server.room import Room
    from croupier_server.storage.catalogue import TournamentRow
    from croupier_server.web.site import Site

__all__ = ["routes"]

T = TypeVar("T")

BY: Final = "operator (web)"
"""Who has given the orders that come from these pages."""

PATIENCE_S: Final = 2.0
"""How long an order's answer is waited for; later ones are seen in the list of orders."""

SIZE: Final = 50

HEADERS: Final = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"}
"""With no referrer at all, browsers would hide from forms which site they come from."""

TEMPLATES: Final = ("operator_login.html", "operator_home.html", "operator_tournament.html")

Endpoint = Callable[[Request], Awaitable[Response]]
Guarded = Callable[[Request, Visit], Awaitable[Response]]


def routes(site: Site) -> list[Route]:
    """The operator's."""
    pages = _Pages(site)
    for name in TEMPLATES:  # read now, and not when somebody waits
        site.templates.get_template(name)
    one, inside = "/operator/t/{tournament}", pages.inside
    return [
        Route("/operator", pages.start),
        Route("/operator/login", pages.sign_in, methods=["POST"]),
        Route("/operator/logout", inside(pages.sign_out), methods=["POST"]),
        Route(one, inside(pages.tournament)),
        Route(f"{one}/now", inside(pages.now)),
        Route(f"{one}/order", inside(pages.order), methods=["POST"]),
        Route(f"{one}/admit", inside(pages.admit), methods=["POST"]),
        Route(f"{one}/remove", inside(pages.remove), methods=["POST"]),
        Route(f"{one}/export.zip", inside(pages.export)),
    ]


class _Pages:
    """The pages, and what they share."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._gate = Gate(site.settings, site.urls.operator())
        self._exporting = asyncio.Semaphore(1)
        self._forms = 0  # how many were sent: after each, nothing older is shown

    def inside(self, endpoint: Guarded) -> Endpoint:
        """A page for who is signed in; others are led to the form."""

        async def guarded(request: Request) -> Response:
            visit = await self._gate.visit(request)
            if visit is not None:
                return await endpoint(request, visit)
            if request.method == "POST":
                raise HTTPException(403, "You are signed out. Sign in again, and repeat it.")
            if request.url.path.endswith("/now"):  # a script asks, and tells; it is no fault
                return Response(status_code=204, headers=HEADERS)
            return RedirectResponse(self._site.urls.operator(), 303, headers=HEADERS)

        return guarded

    # -- in and out

    async def start(self, request: Request) -> Response:
        visit = await self._gate.visit(request)
        if visit is None:
            return await self._door(request)
        paging = Paging.asked(request, SIZE)
        page = await self._site.reader.read(lambda connection: home.load(connection, paging))
        return await self._page(TEMPLATES[1], visit, page=page)

    async def sign_in(self, request: Request) -> Response:
        fields = await self._gate.fields(request, VISITOR)
        try:
            cookie = await self._gate.sign_in(request, fields.get("token", ""))
        except TooOften as problem:
            told = str(problem)
            response = await self._door(request, told, 429)
            response.headers["Retry-After"] = str(problem.wait_s)
            return response
        if cookie is None:
            return await self._door(request, "This is not the operator's token.", 403)
        response = RedirectResponse(self._site.urls.operator(), 303, headers=HEADERS)
        self._gate.give_cookie(request, response, SESSION, cookie)
        self._gate.give_cookie(request, response, VISITOR, "")
        return response

    async def sign_out(self, request: Request, _: Visit) -> Response:
        await self._gate.fields(request)
        self._gate.sign_out(request)
        response = RedirectResponse(self._site.urls.operator(), 303, headers=HEADERS)
        self._gate.give_cookie(request, response, SESSION, "")
        return response

    async def _door(self, request: Request, problem: str = "", status: int = 200) -> Response:
        """The form to sign in, or how to make a token."""
        cookie, mark = self._gate.invite(request)
        known = await self._gate.known()
        body = self._site.html(
            TEMPLATES[0],
            has_token=known is not None,
            is_kept=self._site.settings.storage.where is not None,
            problem=problem,
            mark=mark,
        )
        response = Response(body, status, HEADERS, "text/html")
        self._gate.give_cookie(request, response, VISITOR, cookie)
        return response

    # -- a tournament

    async def tournament(self, request: Request, visit: Visit) -> Response:
        row = await self._row(request)
        return await self._page(
            TEMPLATES[2],
            visit,
            name=row.name,
            status=row.status,
            now=Markup((await self._now(row.name)).decode()),  # noqa: S704 - a template made it
            playing=await self._site.reader.read(lambda connection: playing(connection, row.id)),
            has_roster=await asyncio.to_thread(admission.roster_of, row) is not None,
            url=self._url(row.name),
        )

    async def now(self, request: Request, _: Visit) -> Response:
        """What changes on the page by itself; what a form has led to is not in it."""
        body = await self._now((await self._row(request)).name)
        return Response(body, headers=HEADERS, media_type="text/html")

    async def order(self, request: Request, visit: Visit) -> Response:
        row, fields = await self._row(request), await self._gate.fields(request)

        def work() -> Notice:
            form = OrderForm.of(fields)
            told = give(
                *(self._place(), row, form.verb, form.about, form.reason),
                by=BY,
                patience_s=PATIENCE_S,
            )
            return Notice(f"{form.verb.capitalize()}: {told.removeprefix(f'{row.name}: ')}")

        return await self._done(visit, row, work)

    async def admit(self, request: Request, visit: Visit) -> Response:
        row, fields = await self._row(request), await self._gate.fields(request)

        def work() -> Notice:
            form = AdmitForm.of(fields)
            told, token = admission.admit(self._place(), row, form, by=BY)
            return Notice(told, secret=token)

        return await self._done(visit, row, work)

    async def remove(self, request: Request, visit: Visit) -> Response:
        row, fields = await self._row(request), await self._gate.fields(request)

        def work() -> Notice:
            form = AdmitForm.of(fields)
            return Notice(admission.remove(self._place(), row, form.name, by=BY))

        return await self._done(visit, row, work)

    async def export(self, request: Request, _: Visit) -> Response:
        row = await self._row(request)
        if self._exporting.locked():
            raise HTTPException(503, "Another export is being made. Try again in a moment.")
        async with self._exporting:
            try:
                bom = request.query_params.get("bom") == "1"
                archive = await archive_of(self._place(), row, bom=bom)
            except UserError as problem:
                raise HTTPException(503, safe(str(problem), 300)) from None
        return FileResponse(
            archive,
            filename=archive.name,
            media_type="application/zip",
            headers=HEADERS,
            background=BackgroundTask(discard, archive),
        )

    # -- what they share

    async def _done(self, visit: Visit, row: TournamentRow, work: Callable[[], Notice]) -> Response:
        """Do what a form asks for, in a thread; the next page tells what came of it."""
        try:
            notice = await asyncio.to_thread(work)
        except UserError as problem:
            told = str(problem).removeprefix(f"{row.name}: ").removeprefix("refused: ")
            notice = Notice(safe(f"Not done: {told}", 300), is_problem=True)
        self._forms += 1
        visit.session.tell(notice)
        return RedirectResponse(self._url(row.name), 303, headers=HEADERS)

    async def _page(self, template: str, visit: Visit, **context: Any) -> Response:
        context |= {"mark": visit.mark, "notices": visit.session.take_notices()}
        body = await self._site.reader.render(lambda: self._site.html(template, **context))
        return Response(body, headers=HEADERS, media_type="text/html")

    async def _row(self, request: Request) -> TournamentRow:
        name = self._site.param(request, "tournament")
        row = await self._site.reader.read(
            lambda connection: catalogue.find_tournament(connection, name)
        )
        if row is None:
            raise HTTPException(404, f"There is no tournament {printable(name)} here.")
        return row

    async def _now(self, tournament: str) -> bytes:
        server = await asyncio.to_thread(self._server, tournament)
        sign_ups = self._sign_ups(tournament)
        job = now_job(self._site.frame, tournament, server, sign_ups)
        key = ("operator", tournament, server, sign_ups, self._forms)
        return (await self._site.reader.show_apart(key, job, follows_moves=True)).body

    def _place(self) -> Place:
        """Where the tournaments are.

        Raises:
            UserError: in memory, where no order reaches them.
        """
        storage = self._site.settings.storage
        if storage.where is None:
            raise UserError("This server keeps all in memory; orders need a data directory.")
        return Place(storage)

    def _server(self, tournament: str) -> str:
        """Whether a server plays that tournament, as far as it can be seen; `unknown` if not."""
        doors, storage = self._site.doors, self._site.settings.storage
        if doors is not None and tournament in doors.rooms:
            return "yes"
        if doors is not None or storage.where is None:
            return "no"
        if isinstance(storage.where, str):  # a database doesn't tell
            return "unknown"
        return "no" if Place(storage).server() is None else "yes"

    def _sign_ups(self, tournament: str) -> SignUps | None:
        """Who is in its lobby, if the server that shows the pages has it."""
        room: Room | None = self._site.services.get("rooms", {}).get(tournament)
        return None if room is None else room.sign_ups

    def _url(self, tournament: str) -> str:
        return self._site.urls.operator_tournament(tournament)
