"""The operator's token: who knows it may give orders; only a hash of it is kept.

It is 192 random bits, so that a plain hash can't be undone.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from croupier_server.errors import UserError
from croupier_server.settings import Settings

__all__ = ["hash_of", "is_token", "keep", "known_hash", "new_token"]

FILE: Final = "operator.token"
"""The file in the data directory that has the hash."""

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")


def new_token() -> str:
    """A new token, as it is shown to the operator."""
    return secrets.token_urlsafe(24)


def hash_of(token: str) -> str:
    """What is kept of a token."""
    return "sha256:" + sha256(token.encode("utf-8", "replace")).hexdigest()


def is_token(given: str, known: str) -> bool:
    """Whether a token is the one with that hash; it takes as long whatever was given."""
    return hmac.compare_digest(hash_of(given), known)


def known_hash(settings: Settings) -> str | None:
    """The hash of the token that opens the operator's pages; None if none was made.

    The setting wins over the file in the data directory. What is no hash opens nothing.
    """
    given = settings.web.operator_token_hash or _kept(settings.storage.where)
    return given if given is not None and _HASH.fullmatch(given) else None


def keep(data: Path, token: str) -> Path:
    """Keep a token's hash in a data directory, in the place of any other; the file.

    Raises:
        UserError: it can't be written.
    """
    path = data / FILE
    new = data / f"{FILE}.{secrets.token_hex(4)}"
    try:
        data.mkdir(parents=True, exist_ok=True)
        # made so that nobody else could ever read it, whatever the system gives new files
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{hash_of(token)}\n")
        new.replace(path)
    except OSError as problem:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise UserError(f"{path}: {problem.strerror}") from None
    return path


def _kept(where: Path | str | None) -> str | None:
    if not isinstance(where, Path):
        return None
    try:
        return (where / FILE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
