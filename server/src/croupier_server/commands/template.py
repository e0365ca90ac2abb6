"""The text of a new tournament's file: what is often set, and what it can be."""

from __future__ import annotations

import json
from typing import Final

from croupier_server.errors import UserError
from croupier_server.settings import load_settings

__all__ = ["template"]

_TEXT: Final = """\
# A tournament of Fish. What it comes to:  croupier plan FILE
# Play it, or go on after a crash:         croupier run FILE
# All settings are in docs/settings.md, and formats in docs/tournaments.md.
# A line that begins with "#" and a setting is an example: take the "# " away to set it.

[tournament]
name = {name}
# knockout: winners of games go on. round-robin: everyone against everyone. swiss: rounds against
# equals. ladder: goes on until it is stopped.
format = "{format}"
{own}# Decides boards, pairings and what players of the house draw; drawn by lot if it is not set.
# seed = 20250101
# What an ejection (an illegal move, no answer in time...) costs: the "tournament", the "game"
# alone, or the tournament once there were so many, as in ejection = 3.
ejection = "tournament"
games_at_once = 8

[lobby]
# It begins at once with max_players, and with min_players once wait_ms is over.
min_players = 2
max_players = 64
# From the first sign-up on, in milliseconds; players of the house sign up at once.
wait_ms = 60_000
# Who may play; `croupier token NAME...` writes this file, with a secret for each.
# roster = "roster.toml"
# Players that the server plays: greedy, random, first, minimax:1, minimax:2...
house = ["greedy", "minimax-1=minimax:1"]
# Programs that the server runs, which speak over stdin and stdout (docs/stdio.md).
# programs = ["Pingu=python3 pingu.py"]
# Whether players may join after the start; a knock-out never lets them.
# late = true

[game]
# "fish" is the course's game, and "classic" the boxed one, best with board = "classic".
rules = "fish"
# Rows x columns, and how many fish a tile has; "holes" are tiles that are not there.
board = "5x5,holes=2,fish=1-5"

[clocks]
# In milliseconds, for one answer. Who has none by then is ejected.
place_ms = 10_000
move_ms = 10_000
# For the first call of each game, in which a player may load a model.
start_ms = 30_000
# Spare time of a player in a game, for answers that take longer, and what each turn adds to it.
# bank_ms = 30_000
# increment_ms = 500
# People, or a player in a debugger: no clock.
# no_clock = ["Ada"]

[server]
# "0.0.0.0" lets other machines connect.
host = "127.0.0.1"
port = 8000
# For clients of the course's TCP protocol (docs/course.md).
# course_port = 8001

[storage]
# Where everything is kept while it is played, so that it goes on after a crash.
data = "croupier-data"
# How long players have to come back after a restart of the server.
# resume_wait_ms = 60_000

[records]
# A record of each game, as a file, at the end; `croupier export` writes them too.
# folder = "records"

[practice]
# A room in which players can try the server before the start: `penguin join --room practice`.
# enabled = true
# house = ["greedy", "random", "minimax:1"]
"""

_OWN: Final = {
    "knockout": "",
    "round-robin": """\
# How many play in a game, 2 to 4: each group of so many plays a block, a game for each seat.
table = 2
# With many entrants: so many blocks for each, instead of all against all.
# blocks_per_entrant = 10
# More games than this are refused before it begins.
# max_games = 20_000
""",
    "swiss": """\
# How many play in a game, 2 to 4: each group of so many plays a block, a game for each seat.
table = 2
# As many as the number of players asks for, if it is not set.
# rounds = 5
""",
    "ladder": """\
# How many play in a game, 2 to 4: each group of so many plays a block, a game for each seat.
table = 2
""",
}
"""By format, what is to be chosen about it alone."""


def template(name: str, format_name: str) -> str:
    """The file of a tournament of that name and format.

    Raises:
        UserError: the name can't be.
    """
    try:
        load_settings(None, {"tournament": {"name": name}})
    except UserError as problem:
        raise UserError(str(problem).replace("command line: ", "--name: ", 1)) from None
    quoted = json.dumps(name, ensure_ascii=False)
    return _TEXT.format(name=quoted, format=format_name, own=_OWN[format_name])
