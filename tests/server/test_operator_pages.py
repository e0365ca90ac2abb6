"""The operator's pages: who gets in, what is shown, and what becomes of the forms."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import tempfile
import zipfile
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection

from croupier_server.storage import catalogue
from croupier_server.storage.once import look_once
from croupier_server.tournament.model import Result
from croupier_server.web import reader
from croupier_server.web.operator import known
from croupier_server.web.operator.throttle import MAX_OF_ONE
from croupier_server.web.operator.token import hash_of
from support.kept import keep, orders
from support.operating import notices, operator, tokened
from support.results import played

HOSTILE = (
    "<script>alert(1)</script>",
    "=1+1",
    "a,b\"'",
    "\u202eevil",
    "y" * 10_000,
    "a/../b",
    "&lt;",
)

PAGE = "/operator/t/cup"


async def cup(data: Path, *, status: catalogue.TournamentStatus = "finished") -> None:
    results = [played("1.1.1", "a", "b")]
    await asyncio.to_thread(keep, data, results, status=status)


# -- in and out


async def test_without_a_token_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path, "none") as someone:
        page = await someone.get()
        assert page.status_code == 200
        assert "croupier operator-token" in page.text
        assert "<form" not in page.text
        tokened(tmp_path)
        assert "<form" in (await someone.get()).text


@pytest.mark.parametrize(
    "path",
    ["/", "/t/cup", "/t/cup/live", "/t/cup/p/a", "/connect", "/replay", "/none", "/operator"],
)
async def test_footer_leads_to_the_operator_once_there_is_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(known, "FRESH_S", 0.0)
    monkeypatch.setattr(reader, "FRESH_S", 0.0)
    link = '<footer class="site"><a href="/operator">'
    await cup(tmp_path)
    async with operator(tmp_path, "none") as someone:
        assert link not in (before := await someone.get(path)).text
        token = tmp_path / "operator.token"
        tokened(tmp_path)
        assert link in (await someone.get(path)).text
        token.write_text("no hash", encoding="ascii")
        assert (await someone.get(path)).text.count("<footer") == 0
        assert before.status_code == (404 if path == "/none" else 200)


async def test_hash_among_the_settings_is_a_token_too(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path, "none", operator_token_hash=hash_of("x")) as someone:
        assert '<footer class="site"><a href="/operator">' in (await someone.get("/")).text


async def test_right_token_opens_and_cookies_are_safe(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        answer = await boss.sign_in()
        assert answer.status_code == 303
        session = answer.headers.get_list("set-cookie")[0]
        assert session.startswith("croupier_operator=")
        assert {"HttpOnly", "Max-Age=43200", "Path=/operator", "SameSite=strict"} <= set(
            session.split("; ")
        )
        assert "Secure" not in session
        page = await boss.get()
        assert 'href="/operator/t/cup"' in page.text
        assert page.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert boss.token not in page.text


async def test_cookies_are_for_https_alone_where_there_is_https(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path, url="https://here") as boss:
        answer = await boss.sign_in()
        assert all("Secure" in cookie for cookie in answer.headers.get_list("set-cookie"))


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}/export.zip"])
async def test_pages_lead_who_is_not_signed_in_to_the_form(tmp_path: Path, path: str) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        answer = await boss.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/operator")
        assert (await boss.get(f"{PAGE}/now")).status_code == 204


async def test_wrong_token_is_refused_and_nobody_may_try_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        for _ in range(MAX_OF_ONE):
            wrong = await boss.sign_in("a wrong one")
            assert wrong.status_code == 403
            assert "not the operator&#39;s token" in wrong.text
        late = await boss.sign_in()
        assert late.status_code == 429
        assert "Try again in" in late.text
        assert 1 <= int(late.headers["retry-after"]) <= 60
        assert "croupier_operator" not in boss.client.cookies
    logged = capsys.readouterr().err
    assert logged.count("a wrong operator's token") == MAX_OF_ONE
    assert "a wrong one" not in logged


async def test_token_in_the_address_is_not_looked_at(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        assert 'type="password"' in (await boss.get(f"/operator?token={boss.token}")).text
        assert (await boss.get("/operator/login")).status_code == 405


async def test_signing_out_and_a_new_token_end_a_session(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        stolen = boss.client.cookies["croupier_operator"]
        await boss.send("/operator", "logout")
        boss.client.cookies.set("croupier_operator", stolen, path="/operator")
        assert (await boss.get(PAGE)).status_code == 303
        boss.client.cookies.clear()
        await boss.sign_in()
        assert (await boss.get(PAGE)).status_code == 200
        tokened(tmp_path)
        assert (await boss.get(PAGE)).status_code == 303


# -- forms


async def test_form_without_its_mark_or_from_elsewhere_is_refused(tmp_path: Path) -> None:
    await cup(tmp_path, status="running")
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        post, fields = boss.client.post, {"verb": "stop"}
        assert (await post(f"{PAGE}/order", data=fields)).status_code == 403
        assert (await post(f"{PAGE}/order", data={**fields, "mark": "0" * 64})).status_code == 403
        mark = (await boss.get(PAGE)).text.partition('name="mark" value="')[2][:64]
        good = {**fields, "mark": mark}
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": "http://elsewhere"},
            {"Origin": "null"},
        ):
            answer = await post(f"{PAGE}/order", data=good, headers=headers)
            assert answer.status_code == 403
            assert "another site" in answer.text
        boss.client.cookies.clear()
        answer = await post(f"{PAGE}/order", data=good)
        assert answer.status_code == 403
        assert "signed out" in answer.text
    assert await asyncio.to_thread(orders, tmp_path) == []


async def test_sign_in_needs_the_mark_of_its_own_page(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        answer = await boss.client.post("/operator/login", data={"token": boss.token})
        assert answer.status_code == 403
        assert "croupier_operator" not in boss.client.cookies


async def test_files_and_floods_of_fields_are_refused(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        post = boss.client.post
        files = await post(f"{PAGE}/order", files={"verb": ("a.txt", b"stop")})
        many = await post(f"{PAGE}/order", data={f"f{at}": "" for at in range(100)})
        large = await post(f"{PAGE}/order", data={"reason": "x" * 100_000})
        assert (files.status_code, many.status_code, large.status_code) == (400, 400, 413)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"verb": "dance"}, "no such order"),
        ({"verb": "withdraw"}, "which player?"),
        ({"verb": "void", "about": " ", "reason": "why"}, "which game?"),
        ({"verb": "disqualify", "about": "a", "reason": " \n"}, "say why"),
        ({"verb": "disqualify", "about": "a", "reason": "y" * 501}, "at most 500"),
    ],
)
async def test_order_that_lacks_something_is_not_given(
    tmp_path: Path, fields: dict[str, str], told: str
) -> None:
    await cup(tmp_path, status="running")
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        answer = await boss.told("cup", "order", **fields)
        assert answer.startswith("Not done: ")
        assert told in answer
    assert await asyncio.to_thread(orders, tmp_path) == []


async def test_order_without_a_server_waits_and_is_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("croupier_server.web.operator.pages.PATIENCE_S", 0.2)
    await cup(tmp_path, status="running")
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        told = await boss.order("cup", "disqualify", about="a", reason="=two\naccounts")
        assert told.startswith("Disqualify: disqualify is noted, but no server plays it now")
        page = await boss.get(PAGE)
        assert notices(page) == ""  # shown once
        assert "waits for a server" in page.text
    (order,) = await asyncio.to_thread(orders, tmp_path)
    assert (order.verb, order.by) == ("disqualify", "operator (web)")
    assert order.argument == {"about": "a", "reason": "=two accounts"}


async def test_finished_tournament_is_changed_at_once(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        assert 'value="pause"' not in (await boss.get(PAGE)).text
        told = await boss.order("cup", "void", about="1.1.1", reason="wrong board")
        assert told.startswith("Void: done")
        again = await boss.order("cup", "void", about="1.1.1", reason="wrong board")
        assert again.startswith(("Not done: ", "Void: "))
        told = await boss.order("cup", "replay", about="9.9", reason="why not")
        assert "no game" in told or "noted" in told


async def test_missing_tournament_and_hostile_paths_are_pages(tmp_path: Path) -> None:
    await cup(tmp_path)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        for path in ("nothing", "..%2f..%2fetc", "%00", "x" * 4_000):
            assert (await boss.get(f"/operator/t/{path}")).status_code == 404
        assert (await boss.get("/operator?page=99999999999")).status_code == 400


# -- what is shown


async def test_names_reasons_and_verdicts_are_shown_as_text(tmp_path: Path) -> None:
    await asyncio.to_thread(keep, tmp_path, [], status="running", names=HOSTILE)

    def put_out(connection: Connection) -> None:
        for row in catalogue.entrants(connection, 1):
            reason = {"verdict": "disqualified", "phase": "tournament", "detail": row.name}
            catalogue.set_entrant(
                connection,
                row.id,
                status="disqualified",
                reason=reason,
            )
            catalogue.give_order(
                connection,
                1,
                "disqualify",
                {"about": row.name, "reason": f"{row.name}\ud800"},
                by=row.name,
            )

    await asyncio.to_thread(look_once, tmp_path, put_out)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        for path in (PAGE, f"{PAGE}/now"):
            page = await boss.get(path)
            assert page.status_code == 200
            assert "<script>alert" not in page.text
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
            assert "\u202e" not in page.text
            assert "y" * 300 not in re.sub("<[^>]*>", "", page.text)
            assert "&amp;lt;" in page.text


async def test_failed_games_are_pointed_out(tmp_path: Path) -> None:
    void = Result("1.1.1", "1.1", 1, ("a", "b"), "void")
    await asyncio.to_thread(keep, tmp_path, [void], status="running")

    def begin(connection: Connection) -> None:
        (pairing,) = catalogue.pairings(connection, 1)
        game = catalogue.begin_game(connection, pairing.id, 1, "1.1.1", 3, "{}\n")
        catalogue.interrupt_game(connection, game.id)

    await asyncio.to_thread(look_once, tmp_path, begin)
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        page = await boss.get(PAGE)
        assert "Games that came to nothing" in page.text
        assert 'class="badge interrupted"' in page.text


# -- the download


async def rows(answer: httpx.Response, name: str) -> list[list[str]]:
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return list(csv.reader(io.TextIOWrapper(archive.open(name), "utf-8-sig", newline="")))


async def test_download_is_the_export_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    data = tmp_path / "data"
    await cup(data)
    async with operator(data) as boss:
        await boss.sign_in()
        answer = await boss.get(f"{PAGE}/export.zip?bom=1")
        assert answer.status_code == 200
        assert 'filename="cup.zip"' in answer.headers["content-disposition"]
        assert answer.headers["cache-control"] == "no-store"
        standings = await rows(answer, "standings.csv")
        assert [row[1] for row in standings[1:]] == ["a", "b"]
    assert list(scratch.iterdir()) == []


async def test_tournament_named_like_an_option_is_exported(tmp_path: Path) -> None:
    await asyncio.to_thread(keep, tmp_path, [played("1.1.1", "a", "b")], name="--help")
    async with operator(tmp_path) as boss:
        await boss.sign_in()
        answer = await boss.get("/operator/t/--help/export.zip")
        assert answer.status_code == 200
        assert answer.content.startswith(b"PK")
