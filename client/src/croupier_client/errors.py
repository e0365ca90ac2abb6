"""The exceptions of croupier_client.

::

    ClientError            root of this distribution; the message is one clear line
    ├── LoadError          a target that is no player, or whose code can't be loaded
    ├── BadURL             an address that no server can have
    ├── ProgramError       a program that can't be started, or does not say hello
    └── BadAnswer          a player's method returned something that is no action

How a visit to a server ended is a value, :class:`~croupier_client.connection.Ending`, and no
exception. What a player's code raises is reported to its author and answered as an error.
"""

from __future__ import annotations

__all__ = ["BadAnswer", "BadURL", "ClientError", "LoadError", "ProgramError"]


class ClientError(Exception):
    """Root of the exceptions of this distribution."""


class LoadError(ClientError):
    """A target that can't be made into a player: what was looked for, where, and what is wrong."""


class BadURL(ClientError, ValueError):
    """An address that is no ``ws://HOST:PORT``."""


class ProgramError(ClientError):
    """A program can't be started, or did not answer hello: what it did, and what was expected."""


class BadAnswer(ClientError, TypeError):
    """A player's method returned something that is no action: what, and what was expected."""
