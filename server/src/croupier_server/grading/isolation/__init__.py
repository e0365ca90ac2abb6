"""Levels of isolation, one module each; :mod:`.choice` finds the best that works here."""
