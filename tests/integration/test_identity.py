"""Who may connect: rosters and tokens, certificates, and browsers' origins."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidMessage, InvalidStatus

from croupier_common.jsontypes import is_object
from croupier_server.app import App
from croupier_server.errors import UserError
from croupier_server.token_cli import token as token_command
from support.hand import Hand
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.needs import require
from support.wire import Script, play, quick_settings, serving

pytestmark = pytest.mark.usefixtures("anywhere")


def make_tokens(path: Path, *names: str, age: int | None = None) -> dict[str, str]:
    """Tokens from the command itself, by name."""
    arguments = [*names, "--roster", str(path)]
    if age is not None:
        arguments += ["--age", str(age)]
    done = CliRunner().invoke(token_command, arguments, standalone_mode=False)
    assert done.exception is None, done.output
    return dict(line.split("\t") for line in done.output.splitlines())


async def test_roster_admits_those_with_tokens_under_their_names_and_ages(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    tokens = make_tokens(path, "Ada", age=30) | make_tokens(path, "Ben", age=20)
    settings = quick_settings(lobby={"roster": path})
    arena = await play(
        settings,
        [
            Script("Ada", join={"token": tokens["Ada"], "age": 1}),
            Script("ben", join={"token": tokens["Ben"]}),
        ],
    )
    assert arena.result.games[0][0].players == ("Ben", "Ada")


@pytest.mark.parametrize("given", [None, "", "wrong", "Ben's"])
async def test_without_the_right_token_nobody_gets_in(given: str | None, tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    tokens = make_tokens(path, "Ada", "Ben")
    settings = quick_settings(lobby={"roster": path, "wait_ms": 20_000})
    async with serving(settings) as (port, _):
        hand = Hand(port, "Ada", token=tokens["Ben"] if given == "Ben's" else given)
        answer = await hand.join()
        error = answer["error"]
        assert is_object(error)
        assert error["code"] == -32005
        await hand.close()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, made here."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=30)
    except FileNotFoundError:
        require("openssl", None, "openssl is not on the PATH")
    return cert, key


async def test_certificate_makes_the_connection_encrypted(tmp_path: Path) -> None:
    cert, key = await asyncio.to_thread(certificate, tmp_path)
    settings = quick_settings(
        server={"port": 0, "tls_certificate": cert, "tls_key": key}, lobby={"wait_ms": 20_000}
    )
    trust = ssl.create_default_context(cafile=str(cert))
    async with serving(settings) as (port, _):
        async with connect(f"wss://localhost:{port}", ssl=trust, compression=None) as connection:
            await connection.send("hello")
            assert "not JSON" in str(await connection.recv())
        with pytest.raises((OSError, InvalidMessage)):
            await connect(f"ws://localhost:{port}", open_timeout=5)


async def test_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    settings = quick_settings(server={"port": 0, "tls_certificate": tmp_path / "none.pem"})
    with pytest.raises(UserError, match=r"can't use .*none\.pem: No such file"):
        await App(settings).run()


def encrypted_key(folder: Path, key: Path) -> Path:
    locked = folder / "locked.pem"
    command = ["openssl", "pkey", "-in", str(key), "-aes256", "-passout", "pass:secret"]
    subprocess.run([*command, "-out", str(locked)], check=True, capture_output=True, timeout=30)
    return locked


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tls_certificate": "cert", "tls_key": "locked"}, "its key has a pass phrase"),
        ({"tls_certificate": "cert", "tls_key": "other"}, "the key is not the certificate's"),
        ({"tls_certificate": "cert"}, "a certificate chain and its key, as PEM"),
        ({"tls_key": "key"}, r"server\.tls_certificate is not"),
    ],
)
async def test_wrong_key_is_named_and_never_asked_for_on_the_terminal(
    files: dict[str, str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "of-another").mkdir()
    cert, key = await asyncio.to_thread(certificate, tmp_path)
    _, other = await asyncio.to_thread(certificate, tmp_path / "of-another")
    locked = await asyncio.to_thread(encrypted_key, tmp_path, key)
    made = {"cert": cert, "key": key, "other": other, "locked": locked}
    server = {name: made[file] for name, file in files.items()}
    with pytest.raises(UserError, match=told):
        await App(quick_settings(server={"port": 0, **server})).run()


@pytest.mark.parametrize(
    "origin", ["good.example", "*", "https://good.example/", "https://a@b.example", "https://"]
)
async def test_origin_that_no_browser_would_tell_is_named(origin: str) -> None:
    with pytest.raises(UserError, match=r"server\.origins: .* is no origin"):
        await App(quick_settings(server={"port": 0, "origins": [origin]})).run()


async def test_origin_may_be_written_with_capitals_and_its_usual_port() -> None:
    settings = quick_settings(
        server={"port": 0, "origins": ["HTTPS://Good.Example:443"]}, lobby={"wait_ms": 20_000}
    )
    async with serving(settings) as (port, _):
        url = f"ws://127.0.0.1:{port}"
        connection = await connect(url, origin="https://good.example")  # type: ignore[arg-type]  # a NewType of str
        await connection.close()


async def test_web_pages_connect_only_where_their_origin_is_allowed() -> None:
    settings = quick_settings(
        server={"port": 0, "origins": ["https://good.example"]}, lobby={"wait_ms": 20_000}
    )
    async with serving(settings) as (port, _):
        url = f"ws://127.0.0.1:{port}"
        async with connect(url, origin="https://good.example"):  # type: ignore[arg-type]  # a NewType of str
            pass
        async with connect(url):
            pass
        with pytest.raises(InvalidStatus, match="403"):
            await connect(url, origin="https://evil.example")  # type: ignore[arg-type]  # a NewType of str
