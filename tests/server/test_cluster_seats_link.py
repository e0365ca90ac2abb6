"""The link between roles: requests, notes and served subjects, and a connection that is lost."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from croupier_server.cluster import link as link_module
from croupier_server.cluster.link import Link, LinkDown, NoOneThere, NoReply
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.wire import Message, WireError
from croupier_server.errors import UserError
from support.chaos_proxy import ChaosProxy

PATIENCE_S = 15


@asynccontextmanager
async def linked(*urls: str) -> AsyncGenerator[list[Link]]:
    links: list[Link] = []
    try:
        for number, url in enumerate(urls):
            links.append(await Link.open(url, name=f"test {number}", root="test.1"))
        yield links
    finally:
        for link in links:
            await link.close()


async def echo(message: Message) -> Message:
    return message


async def until(link: Link, *, up: bool) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while link.is_connected is not up:  # noqa: ASYNC110 - there is no event for the loss
            await asyncio.sleep(0.01)


async def test_server_that_is_not_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "_OPEN_S", 0.3)
    with pytest.raises(UserError) as refused:
        await Link.open("nats://secret@127.0.0.1:1", name="test", root="test.1")
    assert str(refused.value).startswith("can't reach NATS at nats://127.0.0.1:1: ")
    assert "refused" in str(refused.value)
    assert "secret" not in str(refused.value)


async def test_wrong_token_is_one_clear_line_at_once(nats_server: NatsServer) -> None:
    with pytest.raises(UserError, match=r"NATS at nats://127.0.0.1:\d+ lets nobody in"):
        await Link.open(f"nats://wrong@127.0.0.1:{nats_server.port}", name="test", root="test.1")


async def test_request_is_answered_by_whoever_serves_its_subject(nats_server: NatsServer) -> None:
    async with linked(nats_server.url, nats_server.url) as (a, b):
        with pytest.raises(NoOneThere):
            await b.request("test.1.x", Message({}), 5)
        served = await a.serve("test.1.x", echo)
        asked = Message({"op": "x"}, "any\ntext")
        assert await b.request("test.1.x", asked, 5) == asked
        await served.stop()
        await served.stop()
        with pytest.raises(NoOneThere):
            await b.request("test.1.x", asked, 5)


async def test_subject_is_served_and_served_no_more_from_the_moment_that_it_is_said(
    nats_server: NatsServer,
) -> None:
    async with linked(nats_server.url, nats_server.url) as (a, b):
        for _ in range(200):
            served = await a.serve("test.1.x", echo)
            assert (await b.request("test.1.x", Message({}, "x"), 5)).body == "x"
            await served.stop()
            with pytest.raises(NoOneThere):
                await b.request("test.1.x", Message({}), 5)


async def test_handler_that_fails_is_an_error_and_one_that_is_silent_no_reply(
    nats_server: NatsServer,
) -> None:
    async def fails(message: Message) -> Message | None:
        if message.head["op"] == "silent":
            return None
        raise ZeroDivisionError

    async with linked(nats_server.url) as (link,):
        await link.serve("test.1.x", fails)
        answer = await link.request("test.1.x", Message({"op": "fail"}), 5)
        assert answer.head == {"re": "error", "detail": "internal error"}
        with pytest.raises(NoReply, match=r"within 0.1 s"):
            await link.request("test.1.x", Message({"op": "silent"}), 0.1)
        await link.nats.publish("test.1.x", b"garbage")
        assert (await link.request("test.1.x", Message({"op": "fail"}), 5)).head["re"] == "error"


async def test_messages_are_handled_in_their_order_and_concurrently(
    nats_server: NatsServer,
) -> None:
    begun: list[int] = []
    last = asyncio.Event()

    async def waits_for_the_last(message: Message) -> Message:
        begun.append(message.whole("n"))
        if message.whole("n") == 49:
            last.set()
        await last.wait()
        return message

    async with linked(nats_server.url) as (link,):
        await link.serve("test.1.x", waits_for_the_last)
        asked = [link.request("test.1.x", Message({"n": n}), 5) for n in range(50)]
        answers = await asyncio.gather(*asked)
    assert begun == list(range(50))
    assert [answer.whole("n") for answer in answers] == begun


async def test_message_above_the_limit_of_the_server_is_refused(nats_server: NatsServer) -> None:
    async with linked(nats_server.url) as (link,):
        large = "x" * link.max_payload

        async def too_much(_: Message) -> Message:
            return Message({}, large)

        await link.serve("test.1.x", too_much)
        with pytest.raises(WireError, match=r"\d+ bytes; NATS allows \d+ \(max_payload\)"):
            await link.request("test.1.x", Message({}, large), 5)
        with pytest.raises(WireError, match="max_payload"):
            await link.publish("test.1.x", Message({}, large))
        answer = await link.request("test.1.x", Message({}), 5)
        assert "max_payload" in answer.head["detail"]


async def test_nothing_is_sent_late_after_the_server_was_gone(
    nats_server: NatsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[Message] = []
    back = asyncio.Event()

    async def hear(message: Message) -> Message | None:
        heard.append(message)
        return None if message.body == "stay open" else message

    async with linked(nats_server.url, nats_server.url) as (a, b):
        b.on_reconnect.append(back.set)
        served = await a.serve("test.1.x", hear)
        assert (await b.request("test.1.x", Message({}, "before"), 5)).body == "before"
        open_request = asyncio.ensure_future(b.request("test.1.x", Message({}, "stay open"), 600))
        await asyncio.sleep(0)
        await nats_server.kill()
        with pytest.raises(LinkDown):
            await open_request
        await until(a, up=False)
        for _ in range(100):
            with pytest.raises(LinkDown):
                await b.request("test.1.x", Message({}, "meanwhile"), 600)
            with pytest.raises(LinkDown):
                await b.publish("test.1.x", Message({}, "meanwhile"))
        await nats_server.start()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(a.connected(), b.connected(), back.wait())
        assert (await b.request("test.1.x", Message({}, "after"), 5)).body == "after"
        await served.stop()
    assert [message.body for message in heard if message.body != "stay open"] == ["before", "after"]
    told = capsys.readouterr().err
    assert (told.count("link lost"), told.count("link is back")) == (2, 2)


async def test_what_could_not_be_sent_over_a_dead_line_is_not_sent_later(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "_PING_S", 0.2)
    heard: list[str] = []

    async def hear(message: Message) -> None:
        heard.append(message.body[:10])

    async with (
        ChaosProxy("127.0.0.1", nats_server.port) as proxy,
        linked(
            nats_server.url, nats_server.url.replace(f":{nats_server.port}", f":{proxy.port}")
        ) as (a, b),
    ):
        await a.serve("test.1.x", hear)
        proxy.hold()
        for number in range(60):  # more than the system takes, so that the client has to keep some
            await b.publish("test.1.x", Message({}, f"{number:010} " + "x" * 400_000))
            await asyncio.sleep(0)
        assert b.nats.pending_data_size > 0
        await until(b, up=False)  # by its own pings: nothing tells it
        proxy.reset()
        proxy.heal()
        async with asyncio.timeout(PATIENCE_S):
            await b.connected()
        await b.publish("test.1.x", Message({}, "after"))
        async with asyncio.timeout(PATIENCE_S):
            while "after" not in heard:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert heard == ["after"]


async def test_subject_is_not_served_again_if_it_was_stopped_while_the_link_was_down(
    nats_server: NatsServer,
) -> None:
    async with linked(nats_server.url, nats_server.url) as (a, b):
        served = await a.serve("test.1.x", echo)
        kept = await a.serve("test.1.y", echo)
        await nats_server.kill()
        await until(a, up=False)
        await served.stop()
        late = await a.serve("test.1.z", echo)
        await nats_server.start()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(a.connected(), b.connected())
        with pytest.raises(NoOneThere):
            await b.request("test.1.x", Message({}), 5)
        for subject in ("test.1.y", "test.1.z"):
            assert (await b.request(subject, Message({}, "x"), 5)).body == "x"
        await kept.stop()
        await late.stop()


async def test_link_that_the_server_throws_out_comes_back(nats_server: NatsServer) -> None:
    async with linked(nats_server.url, nats_server.url) as (a, b):
        served = await a.serve("test.1.x", echo)
        transport = a.nats._transport  # pyright: ignore[reportPrivateUsage]
        assert transport is not None
        transport.write(b"NONSENSE\r\n")  # then the client gives up
        await until(a, up=False)
        async with asyncio.timeout(PATIENCE_S):
            await a.connected()
        assert (await b.request("test.1.x", Message({}, "x"), 5)).body == "x"
        await served.stop()
        with pytest.raises(NoOneThere):
            await b.request("test.1.x", Message({}), 5)


async def test_link_is_closed_at_once_though_the_line_is_dead(nats_server: NatsServer) -> None:
    async with ChaosProxy("127.0.0.1", nats_server.port) as proxy:
        through = nats_server.url.replace(f":{nats_server.port}", f":{proxy.port}")
        link = await Link.open(through, name="test", root="test.1")
        proxy.hold()
        for _ in range(60):
            await link.publish("test.1.x", Message({}, "x" * 400_000))
            await asyncio.sleep(0)
        await asyncio.wait_for(link.close(), PATIENCE_S)
        await link.close()
        with pytest.raises(LinkDown):
            await link.request("test.1.x", Message({}), 5)
        with pytest.raises(LinkDown, match="closed"):
            await link.connected()


async def test_ten_thousand_subjects_are_cheap(nats_server: NatsServer) -> None:
    many = 1_000  # by then it is no more than the sum of its parts
    async with linked(nats_server.url) as (link,):
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            kept = [await link.serve(f"test.1.seat.{n:064x}", echo) for n in range(many)]
            await link.nats.flush()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (after - before) / len(kept) < 6_144
