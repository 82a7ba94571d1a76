"""Fetched keys are fresh, survive an outage for a while, and cannot be used to flood their source with fetches."""

import asyncio
from collections.abc import Iterator

import pytest

from keyfence.auth.jwks_refresh import REFRESH_TASK_NAME, FetchedKeys, RefreshPolicy
from keyfence.auth.key_set import VerificationKey
from keyfence.errors import Throttled
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import jwk, private_key
from tests.fakes.jwks_source import ScriptedJwksSource

OLD = jwk(private_key("ES256", "old"), "old")
NEW = jwk(private_key("ES256", "new"), "new")
POLICY = RefreshPolicy()


@pytest.fixture
def source() -> Iterator[ScriptedJwksSource]:
    source = ScriptedJwksSource({"keys": [OLD]})
    yield source
    source.may_answer.set()


@pytest.fixture
def keys(source: ScriptedJwksSource, clock: ManualClock) -> FetchedKeys:
    return FetchedKeys(source.fetch, clock=clock)


async def get_key(keys: FetchedKeys, kid: str = "old") -> VerificationKey:
    key = await keys.find(kid)
    assert key is not None
    return key


async def get_key_without_waiting(keys: FetchedKeys) -> VerificationKey:
    """Returns the key. Fails if the request waits for a fetch."""
    request = asyncio.create_task(get_key(keys))
    for _ in range(5):
        await asyncio.sleep(0)
    assert request.done()
    return await request


async def wait_for_refreshes() -> None:
    """Waits until all fetches in the background have ended."""
    refresh_tasks = {task for task in asyncio.all_tasks() if task.get_name() == REFRESH_TASK_NAME}
    if refresh_tasks:
        await asyncio.wait(refresh_tasks)


async def test_a_fresh_set_is_fetched_once_for_any_number_of_requests(
    keys: FetchedKeys, source: ScriptedJwksSource
) -> None:
    for _ in range(5):
        await get_key(keys)
    assert source.fetches == 1


async def test_a_thousand_concurrent_requests_cause_one_fetch(keys: FetchedKeys, source: ScriptedJwksSource) -> None:
    found_keys = await asyncio.gather(*(keys.find("old") for _ in range(1000)))
    assert len({id(key) for key in found_keys}) == 1
    assert source.fetches == 1


async def test_a_cancelled_request_does_not_cancel_the_fetch(keys: FetchedKeys, source: ScriptedJwksSource) -> None:
    source.may_answer.clear()
    first, second = asyncio.create_task(keys.find("old")), asyncio.create_task(keys.find("old"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    source.may_answer.set()
    assert await second is not None
    assert first.cancelled()
    assert source.fetches == 1


async def test_random_kids_cause_one_fetch_in_the_interval(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await get_key(keys)
    for attempt in range(80):
        clock.advance(POLICY.min_interval_seconds / 80)
        assert await keys.find(f"random-{attempt}") is None
    assert source.fetches == 2


async def test_a_new_key_is_found_as_soon_as_the_policy_allows_a_fetch(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await get_key(keys)
    source.document = {"keys": [OLD, NEW]}
    assert await keys.find("new") is None
    clock.advance(POLICY.min_interval_seconds)
    assert await keys.find("new") is not None


async def test_an_unchanged_key_stays_valid_through_a_refresh(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await get_key(keys)
    clock.advance(POLICY.fresh_seconds)
    assert await get_key(keys) is key
    assert source.fetches == 2
    assert keys.contains(key)


async def test_a_key_that_the_next_key_set_does_not_have_is_invalid(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await get_key(keys)
    source.document = {"keys": [NEW]}
    clock.advance(POLICY.min_interval_seconds)
    await get_key(keys, "new")
    assert not keys.contains(key)
    assert await keys.find("old") is None


async def test_an_empty_key_set_makes_every_key_invalid(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await get_key(keys)
    source.document = {"keys": []}
    clock.advance(POLICY.fresh_seconds)
    assert await keys.find("old") is None
    assert not keys.contains(key)


async def test_a_new_key_with_the_same_kid_makes_the_old_key_invalid(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await get_key(keys)
    source.document = {"keys": [NEW | {"kid": "old"}]}
    clock.advance(POLICY.fresh_seconds)
    assert await get_key(keys) != key
    assert not keys.contains(key)


async def test_a_set_that_is_not_fresh_is_refreshed_before_it_is_used(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await get_key(keys)
    source.document = {"keys": [NEW]}
    clock.advance(POLICY.fresh_seconds - 1)
    assert await keys.find("old") is not None
    clock.advance(1)
    assert await keys.find("old") is None


async def test_known_keys_survive_an_outage_until_the_limit_and_not_longer(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await get_key(keys)
    source.is_down = True
    clock.advance(POLICY.usable_seconds - 1)
    assert await get_key(keys) is key
    assert keys.contains(key)
    clock.advance(1)
    assert not keys.contains(key)
    with pytest.raises(Throttled):
        await keys.find("old")


async def test_keys_are_found_again_after_an_outage(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    source.is_down = True
    with pytest.raises(Throttled):
        await keys.find("old")
    source.is_down = False
    clock.advance(POLICY.min_interval_seconds)
    await get_key(keys)


async def test_fetches_are_limited_during_an_outage(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    source.is_down = True
    for _ in range(100):
        with pytest.raises(Throttled):
            await keys.find("old")
    assert source.fetches == 1


async def test_an_outage_says_when_to_retry(keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock) -> None:
    source.is_down = True
    with pytest.raises(Throttled) as first:
        await keys.find("old")
    clock.advance(POLICY.min_interval_seconds - 0.5)
    with pytest.raises(Throttled) as late:
        await keys.find("old")
    assert first.value.extensions == {"retryAfterMs": 10_000}
    assert late.value.extensions == {"retryAfterMs": 1000}


async def test_an_unknown_kid_during_an_outage_is_throttled_and_not_refused(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    await get_key(keys)
    source.is_down = True
    clock.advance(POLICY.min_interval_seconds)
    with pytest.raises(Throttled):
        await keys.find("new")


async def test_requests_with_known_keys_do_not_wait_for_a_source_that_failed(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await get_key(keys)
    source.is_down = True
    clock.advance(POLICY.fresh_seconds)
    await get_key(keys)
    clock.advance(POLICY.min_interval_seconds)
    source.may_answer.clear()
    assert await get_key_without_waiting(keys) is key
    source.is_down = False
    source.document = {"keys": [NEW]}
    source.may_answer.set()
    await wait_for_refreshes()
    assert source.fetches == 3
    assert not keys.contains(key)


async def test_known_keys_stay_valid_while_a_fetch_hangs(source: ScriptedJwksSource, clock: ManualClock) -> None:
    keys = FetchedKeys(source.fetch, clock=clock, policy=RefreshPolicy(wait_seconds=0.01))
    key = await get_key(keys)
    source.may_answer.clear()
    clock.advance(POLICY.fresh_seconds)
    assert await get_key(keys) is key
    clock.advance(POLICY.fresh_seconds)
    assert await get_key_without_waiting(keys) is key
    with pytest.raises(Throttled):
        await keys.find("new")
    assert source.fetches == 2
    source.may_answer.set()
    await wait_for_refreshes()


async def test_requests_with_random_kids_do_not_delay_requests_with_known_kids(
    keys: FetchedKeys, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    key = await get_key(keys)
    clock.advance(POLICY.min_interval_seconds)
    source.may_answer.clear()
    unknown_kid_request = asyncio.create_task(keys.find("random"))
    await asyncio.sleep(0)
    assert await get_key_without_waiting(keys) is key
    source.may_answer.set()
    assert await unknown_kid_request is None
