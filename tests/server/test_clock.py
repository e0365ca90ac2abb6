"""The arithmetic of the clocks, with times that the tests make up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_server.clock import BEAT_S, GRAIN_S, MAX_STALL_MS, Bank, StallMeter, TurnClock


def meter_with(*stalls: tuple[float, float], until: float) -> StallMeter:
    """A meter whose loop was stalled at those times and beat duly at all others."""
    meter = StallMeter(0.0)
    now = BEAT_S
    waiting = list(stalls)
    while now < until:
        if waiting and now >= waiting[0][0]:
            now = waiting.pop(0)[1]
        meter.beat(now)
        now += BEAT_S
    return meter


def test_loop_that_beats_duly_has_no_stall() -> None:
    assert meter_with(until=10).between(0, 10) == 0


def test_stall_is_measured_within_the_time_that_is_asked_for() -> None:
    meter = meter_with((2.0, 5.0), until=10)
    assert meter.between(0, 10) == pytest.approx(3.0, abs=BEAT_S)
    assert meter.between(3, 4) == pytest.approx(1.0)
    assert meter.between(4, 10) == pytest.approx(1.0, abs=BEAT_S)
    assert meter.between(6, 10) == 0
    assert meter.between(0, 1) == 0


def test_stall_counts_before_its_beat_has_come_through() -> None:
    meter = meter_with(until=2)
    assert meter.between(1, 5) == pytest.approx(3.0, abs=2 * BEAT_S)
    assert meter.between(4, 5) == pytest.approx(1.0)


def test_several_stalls_add_up() -> None:
    meter = meter_with((1.0, 2.0), (4.0, 4.5), until=6)
    assert meter.between(0, 6) == pytest.approx(1.5, abs=2 * BEAT_S)


def test_deadline_moves_with_the_stall_and_not_without() -> None:
    clock = TurnClock(started=1.0, limit_s=2.0)
    calm, stalled = meter_with(until=4), meter_with((1.5, 3.5), until=4)
    assert clock.left(3.0, calm) == pytest.approx(0.0)
    assert clock.is_late(3.1, calm)
    assert not clock.is_late(4.0, stalled)
    assert clock.left(4.0, stalled) == pytest.approx(1.0, abs=2 * BEAT_S)


def test_answer_at_the_deadline_is_on_time_and_one_past_the_grain_is_not() -> None:
    clock, meter = TurnClock(0.0, 1.0), meter_with(until=2)
    assert not clock.is_late(1.0, meter)
    assert not clock.is_late(1.0 + GRAIN_S / 2, meter)
    assert clock.is_late(1.0 + 2 * GRAIN_S, meter)


def test_nobody_is_late_for_the_longest_stall() -> None:
    """That may interrupt a game, which is the croupier's to say; it is no player's fault."""
    stalled_s = 5 * MAX_STALL_MS / 1000
    meter = meter_with((0.5, 0.5 + stalled_s), until=3 + stalled_s)
    clock = TurnClock(0.0, 1.0)
    assert not clock.is_late(0.6 + stalled_s, meter)
    assert clock.is_late(1.2 + stalled_s, meter)


def test_seat_without_a_clock_is_never_late() -> None:
    meter = meter_with(until=2)
    clock = TurnClock(0.0)
    assert clock.left(1e9, meter) == math.inf
    assert not clock.is_late(1e9, meter)


def test_timing_charges_think_time_less_stall() -> None:
    meter = meter_with((1.0, 2.0), until=4)
    timing = TurnClock(0.5, 10).timing(3.0, meter, 0.0123)
    assert timing.think_ms == 2500
    assert timing.stall_ms == pytest.approx(1000, abs=20)
    assert timing.charged_ms == timing.think_ms - timing.stall_ms
    assert timing.to_json()["rtt_ms"] == 12
    assert "rtt_ms" not in TurnClock(0.5, 10).timing(3.0, meter, None).to_json()


@given(
    st.lists(st.tuples(st.floats(0.02, 2), st.floats(0.1, 3)), max_size=6),
    st.floats(0, 5),
    st.floats(0, 10),
)
def test_stall_is_never_more_than_the_time_it_is_measured_in(
    gaps: list[tuple[float, float]], start: float, length: float
) -> None:
    stalls: list[tuple[float, float]] = []
    now = 0.0
    for calm, stall in gaps:
        stalls.append((now + calm, now + calm + stall))
        now += calm + stall
    meter = meter_with(*stalls, until=now + 1)
    assert 0 <= meter.between(start, start + length) <= length + 1e-9


def test_bank_is_used_only_beyond_budget_and_allowance() -> None:
    bank = Bank(left_ms=1_000, increment_ms=50)
    assert bank.after(900, 1_000, 100).left_ms == 1_050
    assert bank.after(1_100, 1_000, 100).left_ms == 1_050
    assert bank.after(1_400, 1_000, 100).left_ms == 750
    assert bank.after(9_000, 1_000, 100).left_ms == 50
