"""Fetched keys are fresh, survive an outage for a while, and cannot be used to flood their source with fetches."""

import asyncio
from collections.abc import Iterator

import pytest

from keyfence.auth.jwks_refresh import REFRESH_TASK_NAME, FetchedKeys, RefreshPolicy
from keyfence.auth.signature_algorithms import VerificationKey
from keyfence.errors import Throttled
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import jwk, private_key
from tests.fakes.jwks_source import ScriptedJwksSource

OLD = jwk(private_key("ES256", "old"), "old")
NEW = jwk(private_key("ES256", "new"), "new")
PACE = RefreshPolicy()


@pytest.fixture
def source() -> Iterator[ScriptedJwksSource]:
    source = ScriptedJwksSource({"keys": [OLD]})
    yield source
    source.open.set()


@pytest.fixture
def keys(source: ScriptedJwksSource, clock: ManualClock) -> FetchedKeys:
    return FetchedKeys(source.fetch, clock=clock)


async def known(keys: FetchedKeys, kid: str = "old") -> VerificationKey:
    key = await keys.find(kid)
    assert key is not None
    return key


async def known_at_once(keys: FetchedKeys) -> VerificationKey:
    """Returns the key. The request must not wait for a fetch."""
    question = asyncio.create_task(known(keys))
    for _ in range(5):
        await asyncio.sleep(0)
    assert question.done()
    return await question


async def settled() -> None:
    """Waits until the fetch in the background has ended."""
    flights = {task for task in asyncio.all_tasks() if task.get_name() == REFRESH_TASK_NAME}
    if flights:
        await asyncio.wait(flights)


async def test_a_fresh_set_is_fetched_once_for_any_number_of_requests(
    keys: FetchedKeys, source: ScriptedJwksSource
) -> None:
    for _ in range(5):
        await known(keys)
    assert source.fetches == 1


async def test_a_thousand_callers_at_once_cause_one_fetch(keys: FetchedKeys, source: ScriptedJwksSource) -> None:
    found = await asyncio.gather(*(keys.find("old") for _ in range(1000)))
    assert len({id(key) for key in found}) == 1
    assert source.fetches == 1


async def test_a_canceled_request_does_not_cancel_the_fetch(keys: FetchedKeys, source: ScriptedJwksSource) -> None:
    source.open.clear()
    first, second = asyncio.create_task(keys.find("old")), asyncio.create_task(keys.find("old"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    source.open.set()
    assert await second is not None
    assert first.cancelled()
    assert source.fetches == 1


async def test_random_kids_cause_one_fetch_in_the_interval(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await known(keys)
    for attempt in range(80):
        clock.advance(PACE.min_interval_seconds / 80)
        assert await keys.find(f"random-{attempt}") is None
    assert source.fetches == 2


async def test_a_new_key_is_found_as_soon_as_the_policy_allows_a_fetch(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await known(keys)
    source.document = {"keys": [OLD, NEW]}
    assert await keys.find("new") is None
    clock.advance(PACE.min_interval_seconds)
    assert await keys.find("new") is not None


async def test_an_unchanged_key_stays_valid_through_a_refresh(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await known(keys)
    clock.advance(PACE.fresh_seconds)
    assert await known(keys) is key
    assert source.fetches == 2
    assert keys.contains(key)


async def test_a_dropped_key_is_gone_with_the_next_set(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await known(keys)
    source.document = {"keys": [NEW]}
    clock.advance(PACE.min_interval_seconds)
    await known(keys, "new")
    assert not keys.contains(key)
    assert await keys.find("old") is None


async def test_an_empty_set_drops_every_key(keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock) -> None:
    key = await known(keys)
    source.document = {"keys": []}
    clock.advance(PACE.fresh_seconds)
    assert await keys.find("old") is None
    assert not keys.contains(key)


async def test_a_kid_with_another_key_invalidates_the_first(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await known(keys)
    source.document = {"keys": [NEW | {"kid": "old"}]}
    clock.advance(PACE.fresh_seconds)
    assert await known(keys) != key
    assert not keys.contains(key)


async def test_a_set_that_is_not_fresh_is_refreshed_before_it_is_used(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await known(keys)
    source.document = {"keys": [NEW]}
    clock.advance(PACE.fresh_seconds - 1)
    assert await keys.find("old") is not None
    clock.advance(1)
    assert await keys.find("old") is None


async def test_known_keys_survive_an_outage_until_the_limit_and_not_longer(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await known(keys)
    source.down = True
    clock.advance(PACE.usable_seconds - 1)
    assert await known(keys) is key
    assert keys.contains(key)
    clock.advance(1)
    assert not keys.contains(key)
    with pytest.raises(Throttled):
        await keys.find("old")


async def test_the_end_of_an_outage_is_noticed(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    source.down = True
    with pytest.raises(Throttled):
        await keys.find("old")
    source.down = False
    clock.advance(PACE.min_interval_seconds)
    await known(keys)


async def test_fetches_are_limited_during_an_outage(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    source.down = True
    for _ in range(100):
        with pytest.raises(Throttled):
            await keys.find("old")
    assert source.fetches == 1


async def test_an_outage_says_when_to_retry(keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock) -> None:
    source.down = True
    with pytest.raises(Throttled) as first:
        await keys.find("old")
    clock.advance(PACE.min_interval_seconds - 0.5)
    with pytest.raises(Throttled) as late:
        await keys.find("old")
    assert first.value.extensions == {"retryAfterMs": 10_000}
    assert late.value.extensions == {"retryAfterMs": 1000}


async def test_an_unknown_kid_during_an_outage_is_not_refused_as_wrong(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await known(keys)
    source.down = True
    clock.advance(PACE.min_interval_seconds)
    with pytest.raises(Throttled):
        await keys.find("new")


async def test_known_keys_do_not_wait_again_for_a_source_that_failed(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await known(keys)
    source.down = True
    clock.advance(PACE.fresh_seconds)
    await known(keys)
    clock.advance(PACE.min_interval_seconds)
    source.open.clear()
    assert await known_at_once(keys) is key
    source.down = False
    source.document = {"keys": [NEW]}
    source.open.set()
    await settled()
    assert source.fetches == 3
    assert not keys.contains(key)


async def test_during_a_hanging_fetch_known_keys_stay_valid(source: ScriptedJwksSource, clock: ManualClock) -> None:
    keys = FetchedKeys(source.fetch, clock=clock, policy=RefreshPolicy(wait_seconds=0.01))
    key = await known(keys)
    source.open.clear()
    clock.advance(PACE.fresh_seconds)
    assert await known(keys) is key
    clock.advance(PACE.fresh_seconds)
    assert await known_at_once(keys) is key
    with pytest.raises(Throttled):
        await keys.find("new")
    assert source.fetches == 2
    source.open.set()
    await settled()


async def test_random_kids_do_not_delay_known_ones(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await known(keys)
    clock.advance(PACE.min_interval_seconds)
    source.open.clear()
    stranger = asyncio.create_task(keys.find("random"))
    await asyncio.sleep(0)
    assert await known_at_once(keys) is key
    source.open.set()
    assert await stranger is None
