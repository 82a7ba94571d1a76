"""Advice is enough for the peak, keeps still for a while after growth, and never goes beyond the tier."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as some

from keyfence.hot_partitions.shard_recommendation import (
    AUTOPILOT_MAX_SHARDS,
    GROW_AT,
    GROW_TO,
    capped_by_tier,
    min_shards,
    recommended_for_reads,
    recommended_shards,
)
from keyfence.tenancy.tier_quotas import TIER_QUOTAS, Tier

LIMIT = 1000
peaks = some.floats(0, 1e6)
limits = some.sampled_from([1.0, 1000.0, 3000.0])
slots = some.integers(1, 256)


@pytest.mark.parametrize(
    ("peak", "fewest"), [(0, 1), (1, 1), (1000, 1), (1000.5, 2), (2000, 2), (5000, 5), (255_001, 256)]
)
def test_the_fewest_slots_are_the_peak_by_the_limit(peak: float, fewest: int) -> None:
    assert min_shards(peak, LIMIT) == fewest


@pytest.mark.parametrize(
    ("peak", "current", "wanted"),
    [
        (0, 1, 1),
        (700, 1, 1),
        (700.5, 1, 2),
        (1000, 1, 2),
        (1400, 2, 2),
        (1401, 2, 3),
        (5000, 1, 10),
        (5000, 8, 8),
        (5000, 7, 10),
        (0, 8, 8),
    ],
)
def test_slots_grow_when_they_are_full_and_else_stay(peak: float, current: int, wanted: int) -> None:
    assert recommended_shards(peak, LIMIT, current) == wanted


@given(peaks, limits, slots)
def test_what_is_recommended_is_not_full_and_never_fewer(peak: float, limit: float, current: int) -> None:
    wanted = recommended_shards(peak, limit, current)
    assert wanted >= max(current, min_shards(peak, limit))
    assert peak <= GROW_AT * wanted * limit


@given(peaks, limits, slots)
def test_no_slot_is_recommended_that_the_aim_does_not_need(peak: float, limit: float, current: int) -> None:
    wanted = recommended_shards(peak, limit, current)
    assert wanted == current or (wanted - 1) * GROW_TO * limit < peak


@given(peaks, limits, slots, some.floats(0, GROW_AT / GROW_TO - 1e-9))
def test_after_growth_the_peak_may_rise_by_two_fifths_before_the_next(
    peak: float, limit: float, current: int, times: float
) -> None:
    wanted = recommended_shards(peak, limit, current)
    assert wanted == current or recommended_shards(peak * times, limit, wanted) == wanted


@given(peaks, peaks, limits, slots)
def test_more_traffic_never_recommends_fewer(one: float, other: float, limit: float, current: int) -> None:
    lower, higher = sorted((one, other))
    assert recommended_shards(lower, limit, current) <= recommended_shards(higher, limit, current)


def test_a_tenant_that_grows_a_little_every_day_is_given_slots_a_few_times_only() -> None:
    current, changes = 1, 0
    for day in range(3000):
        wanted = recommended_shards(100 * 1.0025**day, LIMIT, current)
        current, changes = wanted, changes + (wanted != current)
    assert current > 256
    assert changes <= 17


@given(peaks, slots, some.floats(0.5, 100))
def test_reads_never_recommend_slots_that_make_no_query_cheaper(peak: float, current: int, cost: float) -> None:
    wanted = recommended_for_reads(peak, 3000, current, cost)
    assert current <= wanted <= recommended_shards(peak, 3000, current)
    assert wanted == current or cost * current / wanted >= 0.5


def test_reads_at_the_least_that_a_query_costs_do_not_feed_their_own_growth() -> None:
    current = 1
    for _ in range(20):
        cost = max(0.5, 2.0 / current)
        current = recommended_for_reads(8_000 * cost * current, 3000, current, cost)
    assert current == 4


@given(some.sampled_from(Tier), slots, some.integers(1, 1000))
def test_growth_is_bounded_by_the_tier_and_takes_nothing_away(tier: Tier, current: int, wanted: int) -> None:
    given = capped_by_tier(tier, current, wanted)
    assert given >= current
    assert given in {current, wanted, AUTOPILOT_MAX_SHARDS[tier]}
    assert given <= max(current, AUTOPILOT_MAX_SHARDS[tier])


def test_every_tier_has_a_bound_and_a_dearer_one_has_more() -> None:
    assert [AUTOPILOT_MAX_SHARDS[tier] for tier in Tier] == sorted(AUTOPILOT_MAX_SHARDS.values())
    assert (AUTOPILOT_MAX_SHARDS[Tier.FREE], AUTOPILOT_MAX_SHARDS[Tier.ENTERPRISE]) == (1, 256)


def test_the_bound_lets_every_tier_have_what_its_quota_may_need() -> None:
    for tier in Tier:
        assert ceil(TIER_QUOTAS[tier].write_units_per_second / (GROW_TO * LIMIT)) <= AUTOPILOT_MAX_SHARDS[tier]
