"""What run.py does: an environment of Croupier's own, and the commands that run in it."""

from bootstrap.commands import main

__all__ = ["main"]
