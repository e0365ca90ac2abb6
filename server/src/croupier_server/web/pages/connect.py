"""How to connect a player: the address, the rooms, and commands that can be copied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_server.web.openapi import Operation
from croupier_server.web.reader import Shown
from croupier_server.web.site import Doors, Site, json_bytes, twin

__all__ = ["OPERATIONS", "ConnectPage", "routes"]

_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")

_ANY: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not listened on

OPERATIONS: Final = (
    Operation(
        "/connect.json",
        "How to connect a player.",
        {
            "address": ("string?", "Where players connect; null where only pages are shown."),
            "rooms": ("array", "The tournaments that can be joined, the first by default."),
            "practice": ("array", "Whom one can practise against; empty without that room."),
            "needs_token": ("boolean", "Whether only those on the roster may play."),
            "commands": ("array", "Commands, each with what it does."),
        },
    ),
)


@dataclass(frozen=True, slots=True)
class ConnectPage:
    """How to connect.

    Attributes:
        commands: what each does, and the command.
    """

    address: str | None
    rooms: tuple[str, ...] = ()
    practice: tuple[str, ...] = ()
    needs_token: bool = False
    commands: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, doors: Doors | None, seen: str, *, needs_token: bool) -> ConnectPage:
        """For a visitor who sees the pages under this name of a host."""
        if doors is None:
            return cls(None)
        address = _address(doors, seen)
        token = " --token TOKEN" if needs_token else ""
        join = f"penguin join {address} my_player/my_player.py --name NAME{token}"
        commands = [("Write a small player that runs as it is", "penguin new my_player")]
        if doors.practice:
            one = f"penguin join {address} my_player/my_player.py --name NAME --room"
            commands.append(("Practise: a game at once, as often as you like", f"{one} practice"))
            commands.append(
                ("Practise against a chosen one", f"{one} practice:{doors.practice[-1]}")
            )
        for number, room in enumerate(doors.rooms):
            where = f" --room {room}" if number else ""
            commands.append((f"Play in {room}", f"{join}{where}"))
        bridge = f"penguin bridge {address} --name NAME{token} -- ./my_player"
        commands.append(("Play with a program in any language", bridge))
        return cls(address, doors.rooms, doors.practice, needs_token, commands)

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {
            "address": self.address,
            "rooms": list(self.rooms),
            "practice": list(self.practice),
            "needs_token": self.needs_token,
            "commands": [{"about": about, "command": command} for about, command in self.commands],
        }


def routes(site: Site) -> list[Route]:
    """The page's; it depends on the name that the visitor has for this host, so it isn't kept."""

    async def connect(request: Request) -> Response:
        needs_token = site.settings.lobby.roster is not None
        page = ConnectPage.of(site.doors, _seen(request), needs_token=needs_token)
        if request.url.path.endswith(".json"):
            return site.answer(request, Shown.of(json_bytes(page.to_json())), "application/json")
        body = await site.reader.render(lambda: site.html("connect.html", page=page))
        return site.answer(request, Shown.of(body), "text/html")

    return twin("/connect", connect, "connect")


def _seen(request: Request) -> str:
    """The host's name as the visitor's browser knows it; nothing if that is no name."""
    given = request.headers.get("host", "")
    name = given if given.endswith("]") else given.rpartition(":")[0] or given
    return name if _HOST.fullmatch(name) else ""


def _address(doors: Doors, seen: str) -> str:
    host = doors.host
    if host in _ANY:
        host = seen or "localhost"
    elif ":" in host:
        host = f"[{host}]"
    return f"{'wss' if doors.is_tls else 'ws'}://{host}:{doors.port}"
