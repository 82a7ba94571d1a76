"""The recommended number of shards can serve the peak, lasts for a while, and stays below the limit of the tier."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
peaks = st.floats(0, 1e6)
limits = st.sampled_from([1.0, 1000.0, 3000.0])
shard_counts = st.integers(1, 256)


@pytest.mark.parametrize(
    ("peak", "expected"), [(0, 1), (1, 1), (1000, 1), (1000.5, 2), (2000, 2), (5000, 5), (255_001, 256)]
)
def test_the_minimum_of_shards_is_the_peak_divided_by_the_limit(peak: float, expected: int) -> None:
    assert min_shards(peak, LIMIT) == expected


@pytest.mark.parametrize(
    ("peak", "current", "recommended"),
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
def test_more_shards_are_recommended_only_when_the_shards_are_nearly_full(
    peak: float, current: int, recommended: int
) -> None:
    assert recommended_shards(peak, LIMIT, current) == recommended


@given(peaks, limits, shard_counts)
def test_recommended_shards_are_not_nearly_full_and_never_fewer_than_now(
    peak: float, limit: float, current: int
) -> None:
    recommended = recommended_shards(peak, limit, current)
    assert recommended >= max(current, min_shards(peak, limit))
    assert peak <= GROW_AT * recommended * limit


@given(peaks, limits, shard_counts)
def test_no_more_shards_are_recommended_than_the_target_load_needs(peak: float, limit: float, current: int) -> None:
    recommended = recommended_shards(peak, limit, current)
    assert recommended == current or (recommended - 1) * GROW_TO * limit < peak


@given(peaks, limits, shard_counts, st.floats(0, GROW_AT / GROW_TO - 1e-9))
def test_after_growth_the_peak_can_rise_by_two_fifths_before_the_next_growth(
    peak: float, limit: float, current: int, growth: float
) -> None:
    recommended = recommended_shards(peak, limit, current)
    assert recommended == current or recommended_shards(peak * growth, limit, recommended) == recommended


@given(peaks, peaks, limits, shard_counts)
def test_more_traffic_never_recommends_fewer_shards(first: float, second: float, limit: float, current: int) -> None:
    lower, higher = sorted((first, second))
    assert recommended_shards(lower, limit, current) <= recommended_shards(higher, limit, current)


def test_a_tenant_that_grows_a_little_every_day_gets_shards_only_a_few_times() -> None:
    current, changes = 1, 0
    for day in range(3000):
        recommended = recommended_shards(100 * 1.0025**day, LIMIT, current)
        current, changes = recommended, changes + (recommended != current)
    assert current > 256
    assert changes <= 17


@given(peaks, shard_counts, st.floats(0.5, 100))
def test_reads_never_recommend_shards_that_make_no_query_cheaper(peak: float, current: int, cost: float) -> None:
    recommended = recommended_for_reads(peak, 3000, current, cost)
    assert current <= recommended <= recommended_shards(peak, 3000, current)
    assert recommended == current or cost * current / recommended >= 0.5


def test_reads_at_the_minimum_cost_of_a_query_do_not_cause_further_growth() -> None:
    current = 1
    for _ in range(20):
        cost = max(0.5, 2.0 / current)
        current = recommended_for_reads(8_000 * cost * current, 3000, current, cost)
    assert current == 4


@given(st.sampled_from(Tier), shard_counts, st.integers(1, 1000))
def test_growth_is_limited_by_the_tier_and_never_removes_shards(tier: Tier, current: int, recommended: int) -> None:
    capped = capped_by_tier(tier, current, recommended)
    assert capped >= current
    assert capped in {current, recommended, AUTOPILOT_MAX_SHARDS[tier]}
    assert capped <= max(current, AUTOPILOT_MAX_SHARDS[tier])


def test_every_tier_has_a_limit_and_a_higher_tier_has_a_higher_limit() -> None:
    assert [AUTOPILOT_MAX_SHARDS[tier] for tier in Tier] == sorted(AUTOPILOT_MAX_SHARDS.values())
    assert (AUTOPILOT_MAX_SHARDS[Tier.FREE], AUTOPILOT_MAX_SHARDS[Tier.ENTERPRISE]) == (1, 256)


def test_the_limit_of_every_tier_allows_the_shards_that_its_quota_needs() -> None:
    for tier in Tier:
        assert ceil(TIER_QUOTAS[tier].write_units_per_second / (GROW_TO * LIMIT)) <= AUTOPILOT_MAX_SHARDS[tier]
