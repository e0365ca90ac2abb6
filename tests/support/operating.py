"""An operator with a browser that knows no scripts."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from croupier_server.settings import load_settings
from croupier_server.web.operator.token import keep, new_token
from croupier_server.web.reader import Reader
from croupier_server.web.site import build_site

__all__ = ["Operator", "operator", "tokened"]

_FORM = re.compile(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
_NOTICE = re.compile(r'<div class="notice[^>]*>(.*?)</div>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


class Operator:
    """Fills in the forms of the pages as they come."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self.client = client
        self.token = token

    async def get(self, path: str = "/operator") -> httpx.Response:
        """Load a page."""
        return await self.client.get(path)

    async def send(self, page: str, action: str, /, **fields: str) -> httpx.Response:
        """Load a page, fill in its form that goes to `action`, and send it."""
        loaded = await self.get(page)
        forms = [body for to, body in _FORM.findall(loaded.text) if to.endswith(f"/{action}")]
        assert forms, f"{page} has no form for {action}"
        hidden = dict(_FIELD.findall(forms[0]))
        to = page if action == "" else f"{page.rstrip('/')}/{action}"
        return await self.client.post(to, data={**hidden, **fields})

    async def sign_in(self, token: str | None = None) -> httpx.Response:
        """Sign in, with the right token unless another is given."""
        return await self.send("/operator", "login", token=token or self.token)

    async def order(self, tournament: str, verb: str, /, **fields: str) -> str:
        """Give an order; what the next page tells of it."""
        return await self.told(tournament, "order", verb=verb, **fields)

    async def told(self, tournament: str, action: str, /, **fields: str) -> str:
        """Send a form of a tournament's page; what the next page tells of it."""
        page = f"/operator/t/{tournament}"
        answer = await self.send(page, action, **fields)
        assert answer.status_code == 303, answer.text
        return notices(await self.get(answer.headers["location"]))


def notices(page: httpx.Response) -> str:
    """What a page tells of the forms that led to it, as plain text."""
    found = " ".join(_TAG.sub(" ", one) for one in _NOTICE.findall(page.text))
    return " ".join(html.unescape(found).split())


def tokened(data: Path) -> str:
    """Make the operator's token of a data directory."""
    token = new_token()
    keep(data, token)
    return token


@asynccontextmanager
async def operator(
    data: Path, token: str = "", *, url: str = "http://here", **web: object
) -> AsyncGenerator[Operator]:
    """Give an operator of a data directory's pages, which no server shows."""
    reader = await Reader.open(data)
    app = build_site(reader, load_settings(None, {"storage": {"data": data}, "web": web}))
    transport = httpx.ASGITransport(app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            yield Operator(client, token or tokened(data))
    finally:
        await reader.close()
