"""The page that opens a record from one's own disk; nothing of it is sent to the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from croupier_server.web.site import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ReplayPage", "routes"]


@dataclass(frozen=True, slots=True)
class ReplayPage:
    """Nothing is in it before a record is opened."""

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {}


def routes(site: Site) -> list[Route]:
    """The page's."""

    async def replay(request: Request) -> Response:
        return await site.respond(request, (), "replay.html", lambda _: ReplayPage())

    return [Route("/replay", replay, name="replay")]
