"""A player that speaks JSON lines, as a program with switches: honest, or with one bad habit.

``stdio_player.py HABIT [METHOD [AFTER]]``: the habit shows when METHOD (``move`` if none is given)
is asked after AFTER right answers to it (1 if none is given). It uses nothing but the standard
library, so that it starts at once. The id of each of its processes is noted in the file that the
variable PIDS names, and the id of each request in the one that ASKED names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FOREVER_S = 3600


class Player:
    """The program."""

    def __init__(self, habit: str, method: str, after: int) -> None:
        self.habit = habit
        self.method = method
        self.after = after
        self.asked = 0

    def run(self) -> None:
        """Answer what is asked until standard input is closed."""
        note("PIDS", os.getpid())
        if self.method == "start":
            self.misbehave({"id": "hello"}, {})
        for line in sys.stdin:
            call = json.loads(line)
            if "id" in call:
                self.answer(call)
        if self.habit == "stubborn":
            time.sleep(FOREVER_S)

    def answer(self, call: dict[str, Any]) -> None:
        """Answer one request."""
        note("ASKED", call["id"])
        result = right_answer(call)
        if call["method"] == self.method:
            self.asked += 1
            if self.asked > self.after:
                self.misbehave(call, result)
                return
        write(reply(call, result) + "\n")

    def misbehave(self, call: dict[str, Any], result: object) -> None:
        """Have the habit."""
        right = reply(call, result)
        match self.habit:
            case "honest" | "stubborn":
                write(right + "\n")
            case "silent":
                pass
            case "slow":
                time.sleep(0.1)
                write(right + "\n")
            case "garbage":
                write("I think I'll go north\n")
            case "prints":
                write(f"thinking about {call['id']}...\n{right}\n")
            case "noisy":
                sys.stderr.write("x" * 99 + "\n")
                for _ in range(100):
                    sys.stderr.write("noise" * 20_971 + "\n")
                sys.stderr.write("the end of the noise\n")
                sys.stderr.flush()
                write(right + "\n")
            case "crash":
                raise ZeroDivisionError("as it was told to")
            case "exit":
                sys.exit(7)
            case "leaves":
                write(right + "\n")
                sys.exit(0)
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "all options":
                options = {"age": 7, "legal_actions": True, "events": True, "max_games": 3}
                write(reply(call, options) + "\n")
            case "says true":
                write(reply(call, True) + "\n")
            case "answers and is deaf":
                write(right + "\n")
                time.sleep(FOREVER_S)
            case "deaf":
                time.sleep(FOREVER_S)
            case "oversize":
                write('{"jsonrpc":"2.0","id":"' + "x" * 70_000)
                time.sleep(FOREVER_S)
            case "latin":
                write(right[:-1].encode() + b',"x":"\xe9"}\n')
            case "error":
                error = {"code": -32000, "message": "no idea"}
                write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": error}) + "\n")
            case "number":
                write("7\n")
            case "unended":
                write(right)
                time.sleep(FOREVER_S)
            case "unended and leaves":
                write(right)
                sys.exit(0)
            case "cut off":
                write(right[:-3])
                sys.exit(0)
            case "closes stdout":
                os.close(1)
                time.sleep(FOREVER_S)
            case "closes stdin":
                os.close(0)
                time.sleep(FOREVER_S)
            case "two replies":
                write(right + "\n" + right + "\n")
            case "foreign id":
                write(reply({"id": "9:9"}, result) + "\n")
            case "floods":
                while True:
                    write((reply({"id": "9:9"}, result) + "\n") * 100)
            case "blank lines":
                write("\n  \n" + right + "\n\r\n")
            case "crlf":
                write(right + "\r\n")
            case "bom":
                write(b"\xef\xbb\xbf" + right.encode() + b"\n")
            case "split":
                for char in right + "\n":
                    write(char)
            case "forks":
                self.fork()
                write(right + "\n")
            case "forks and leaves":
                self.fork()
                sys.exit(0)
            case _:
                raise ValueError(self.habit)

    def fork(self) -> None:
        """Start a process that would outlive this one, with the same pipes."""
        script = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(3600)"
        note("PIDS", subprocess.Popen([sys.executable, "-I", "-S", "-c", script]).pid)


def right_answer(call: dict[str, Any]) -> object:
    """An honest player's."""
    if call["method"] == "hello":
        return {"legal_actions": True}
    actions = call["params"].get("legal_actions")
    return actions[0] if actions else True


def reply(call: dict[str, Any], result: object) -> str:
    """A reply as text."""
    return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result})


def write(data: str | bytes) -> None:
    """Write it all, and at once."""
    left = data.encode() if isinstance(data, str) else data
    while left:
        left = left[os.write(1, left) :]


def note(variable: str, text: object) -> None:
    """Tell the test something."""
    if variable in os.environ:
        with Path(os.environ[variable]).open("a", encoding="ascii") as file:
            file.write(f"{text}\n")


if __name__ == "__main__":
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    habit, method, after, *_ = [*sys.argv[1:], *("honest", "move", "1")[len(sys.argv) - 1 :]]
    Player(habit, method, int(after)).run()
