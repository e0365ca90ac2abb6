"""What a player says of itself when it joins."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import ValidationError

from croupier_client.errors import ClientError
from croupier_common.messages import PROTOCOL, JoinParams

__all__ = ["BadJoin", "JoinOptions"]


class BadJoin(ClientError, ValueError):
    """A name, an age or another option of join that no server takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    """What a player says of itself, and for how many seconds it tries to get through."""

    name: str
    age: int | None = None
    room: str | None = None
    token: str | None = field(default=None, repr=False)
    max_games: int = 1
    legal_actions: bool = False
    events: bool = False
    retry_s: float = 30.0

    def params(self) -> JoinParams:
        """The same as the params of join.

        Raises:
            BadJoin: a value that no server takes, with what is allowed.
        """
        if not self.name.isprintable():
            raise BadJoin(f"name {self.name!r:.60} has characters that can't be printed")
        try:
            return JoinParams(
                protocol=PROTOCOL,
                name=self.name,
                age=self.age,
                room=self.room,
                token=self.token,
                max_games=self.max_games,
                legal_actions=self.legal_actions,
                events=self.events,
            )
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            raise BadJoin(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
