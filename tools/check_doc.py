"""Write docs/check.md, whose steps are those of the check; `--check` says whether it is right."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from croupier_client.check.steps import STEPS

PATH = Path(__file__).parent.parent / "docs" / "check.md"

HEAD = """# Is my player ready?

`penguin check` puts a player through what happens in tournaments, step by step, and says what is
wrong with it before a tournament does. It needs no server.

```
penguin check my_player.py                       # a player of the kit
penguin check -- ./my-player --depth 3           # a program that speaks over stdin and stdout
penguin check --port 8000                        # a WebSocket client that you start yourself
penguin check --port 0 -- node player.js {url}   # one that is started anew for each visit
```

Each step passes, warns, fails, or is skipped. A failed one shows the verdict that a server would
give, the messages that were exchanged, what to do, and what the player's end told beside it: an
exception, or the last lines of its standard error. The check then goes on with the next step, with
a fresh player where the old one is of no more use. After four answers that did not come it gives
up.

A warning is no fault: no tournament puts a player out for it.

- `--budget MS` is the time for each answer, and requests say so.
- `--only STEP` runs one step, or one group of them; it can be given several times. `--list` shows
  the steps.
- `--json FILE` and `--junit FILE` write reports for programs, with the messages at length; `-` is
  standard output.
- `--limit SECONDS` bounds the whole check.
- The exit code is 0 if nothing failed, 1 if something did, 2 for a wrong option or target.

With `--port` and no command, the player is waited for (`--wait`). All steps but the last group need
one connection only. For those of the last group start the player again whenever it has ended, in a
loop, say; they are skipped if nobody comes (`--again`). Only the player's own machine can connect.

A player of the kit runs in this process, and can take it along: one that never returns from `move`
is left behind in its thread, and one that ends the process ends the check.

## A moment again

When a player that was taken to a tournament (`penguin join`) raises an exception, returns what is
no action, or is put out by the server, the kit writes that moment into a file of the current
folder, `penguin-repro-GAME-NUMBER.json`, and says so. `--repro FOLDER` has it go elsewhere, and
`--repro off` nowhere.

```
penguin replay penguin-repro-1.1-9.json my_player.py
```

runs the player on that very request, after the same `tournament_start` and `game_start`. It shows
the board, what was sent and what the server said to that, what the player answers now, and whether
that is legal, with the reason if it is not. There is no limit of time, so a debugger can be used.
The exit code is 0 if the answer is legal, 3 if it is not or there is none, 2 for a wrong file or
target.

The file has the messages as the server sent them, the text that was answered, the verdict, the
traceback and the kit's version, and TARGET as it was given; no token. What a player keeps
in itself between its turns is not in it.

## A server, by players that do wrong

`croupier check URL` is the other direction: it joins a server's tournament, before that begins,
with some fifty programs that each do one thing wrong, and with a few honest players. `croupier
check --list ws://127.0.0.1:8000` shows what each does and how it must end: with which verdict, or
that it `plays on`, since what it does is dropped and harms nobody. `ok` is before what ended so,
`WRONG` before what did not, and a dash before what had no occasion for it: its game was over too
soon, or the board has no hole to place on. The exit code is 1 if anything ended wrong.

## The steps
"""


def main(arguments: list[str]) -> int:
    """Write the page, or compare it: 1 if it is not what it should be."""
    wanted = page()
    if arguments == ["--check"]:
        if PATH.exists() and PATH.read_text(encoding="utf-8") == wanted:
            return 0
        sys.stderr.write("docs/check.md is stale; run: python tools/check_doc.py\n")
        return 1
    PATH.write_text(wanted, encoding="utf-8")
    return 0


def page() -> str:
    """The page as it should be."""
    return HEAD + "\n".join(_steps()) + "\n"


def _steps() -> Iterator[str]:
    group = ""
    for step in STEPS:
        if step.group != group:
            group = step.group
            yield f"\n### {group.capitalize()}\n\n| step | what is checked |\n| --- | --- |"
        yield f"| `{step.name}` | {step.about} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
