"""A tenant's issuer is fresh, looked up once for many requests, and cannot be used to flood the table with reads."""

import asyncio
from itertools import pairwise

import pytest

from keyfence.auth.issuer import MAX_ISSUER_LENGTH, Issuer
from keyfence.auth.jwks_refresh import FetchedKeys
from keyfence.auth.key_set import KeySet, VerificationKey
from keyfence.auth.tenant_issuer_cache import (
    EARLY_LOOKUP_INTERVAL_SECONDS,
    MAX_AGE_SECONDS,
    NEGATIVE_CACHE_SECONDS,
    TenantIssuerCache,
)
from keyfence.errors import Internal, Throttled
from keyfence_iam.token_bucket import call_budget
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import jwk, private_key
from tests.fakes.in_memory_issuers import InMemoryIssuers, ManualSleep, StoredIssuer, fail_to_fetch
from tests.fakes.jwks_source import ScriptedJwksSource

A1, A10 = "https://id.example/a1", "https://id.example/a10"
OLD = jwk(private_key("ES256", "old"), "old")
NEW = jwk(private_key("ES256", "new"), "new")


@pytest.fixture
def stored_issuers() -> InMemoryIssuers:
    stored_issuers = InMemoryIssuers()
    stored_issuers.store(A1, "a1", {"keys": [OLD]})
    stored_issuers.store(A10, "a10", {"keys": [NEW]})
    return stored_issuers


@pytest.fixture
def manual_sleep(clock: ManualClock) -> ManualSleep:
    return ManualSleep(clock)


@pytest.fixture
def issuer_cache(stored_issuers: InMemoryIssuers, clock: ManualClock, manual_sleep: ManualSleep) -> TenantIssuerCache:
    return TenantIssuerCache(
        stored_issuers.find_record, fail_to_fetch, call_budget(1e9), clock=clock, sleep=manual_sleep
    )


async def get_issuer(issuer_cache: TenantIssuerCache, url: str = A1) -> Issuer:
    issuer = await issuer_cache.find(url)
    assert issuer is not None
    return issuer


async def get_key(issuer_cache: TenantIssuerCache, kid: str = "old", url: str = A1) -> VerificationKey:
    key = await (await get_issuer(issuer_cache, url)).keys.find(kid)
    assert key is not None
    return key


async def test_issuers_with_a_common_prefix_belong_to_different_tenants(issuer_cache: TenantIssuerCache) -> None:
    first, tenth = await get_issuer(issuer_cache, A1), await get_issuer(issuer_cache, A10)
    assert (first.tenant, tenth.tenant) == ("a1", "a10")
    assert await first.keys.find("new") is None
    assert await tenth.keys.find("old") is None


@pytest.mark.parametrize(
    "url",
    [
        "https://id.example/a",
        "https://id.example/a1/",
        "https://id.example/A1",
        "https://ID.example/a1",
        "https://id.example/a100",
    ],
)
async def test_an_issuer_is_found_by_its_exact_url_only(issuer_cache: TenantIssuerCache, url: str) -> None:
    assert await issuer_cache.find(url) is None


async def test_a_fresh_issuer_is_looked_up_once_for_any_number_of_requests(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    issuer = await get_issuer(issuer_cache)
    clock.advance(MAX_AGE_SECONDS - 0.1)
    assert await get_issuer(issuer_cache) is issuer
    assert stored_issuers.lookups == [A1]


async def test_a_thousand_concurrent_requests_cause_one_lookup_even_if_the_issuer_is_old(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    await asyncio.gather(*(issuer_cache.find(A1) for _ in range(1000)))
    assert len(stored_issuers.lookups) == 1
    clock.advance(MAX_AGE_SECONDS)
    await asyncio.gather(*(issuer_cache.find(A1) for _ in range(1000)))
    assert len(stored_issuers.lookups) == 2


async def test_a_cancelled_request_does_not_cancel_the_lookup(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    stored_issuers.may_answer.clear()
    first, second = asyncio.create_task(issuer_cache.find(A1)), asyncio.create_task(issuer_cache.find(A1))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    stored_issuers.may_answer.set()
    assert await second is not None
    assert first.cancelled()
    assert stored_issuers.lookups == [A1]


async def test_a_lookup_that_took_longer_than_max_age_is_repeated(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    stored_issuers.may_answer.clear()
    first = asyncio.create_task(issuer_cache.find(A1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(MAX_AGE_SECONDS + 1)
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    second = asyncio.create_task(get_key(issuer_cache, "new"))
    await asyncio.sleep(0)
    stored_issuers.may_answer.set()
    await first
    assert (await second).kid == "new"


async def test_age_is_counted_from_the_start_of_the_lookup(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    stored_issuers.may_answer.clear()
    slow = asyncio.create_task(get_issuer(issuer_cache))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(MAX_AGE_SECONDS - 1)
    stored_issuers.may_answer.set()
    key, issuer = await (await slow).keys.find("old"), await slow
    assert key is not None
    assert issuer.keys.contains(key)
    clock.advance(1)
    assert not issuer.keys.contains(key)


async def test_an_issuer_that_cannot_be_looked_up_is_not_used(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    key = await get_key(issuer_cache)
    issuer = await get_issuer(issuer_cache)
    stored_issuers.is_down = True
    clock.advance(MAX_AGE_SECONDS)
    assert not issuer.keys.contains(key)
    with pytest.raises(Internal):
        await issuer_cache.find(A1)
    stored_issuers.is_down = False
    assert await get_issuer(issuer_cache) is issuer
    assert issuer.keys.contains(key)


async def test_an_error_of_a_lookup_whose_request_was_cancelled_is_not_reported(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    stored_issuers.may_answer.clear()
    stored_issuers.is_down = True
    request = asyncio.create_task(issuer_cache.find(A1))
    await asyncio.sleep(0)
    request.cancel()
    stored_issuers.may_answer.set()
    await asyncio.sleep(0.01)
    stored_issuers.is_down = False
    await get_issuer(issuer_cache)


async def test_an_unchanged_key_is_the_same_object_after_a_lookup(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    key, issuer = await get_key(issuer_cache), await get_issuer(issuer_cache)
    stored_issuers.store(A1, "a1", {"keys": [OLD, NEW]})
    clock.advance(MAX_AGE_SECONDS)
    assert not issuer.keys.contains(key)
    assert await get_issuer(issuer_cache) is issuer
    assert issuer.keys.contains(key)
    assert await get_key(issuer_cache) is key


async def test_a_removed_key_is_invalid_after_a_lookup_or_after_max_age(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    key, issuer = await get_key(issuer_cache), await get_issuer(issuer_cache)
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    clock.advance(MAX_AGE_SECONDS)
    assert not issuer.keys.contains(key)
    await get_issuer(issuer_cache)
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("old") is None


async def test_a_deleted_issuer_is_gone_within_max_age(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    key, issuer = await get_key(issuer_cache), await get_issuer(issuer_cache)
    del stored_issuers.issuers[A1]
    clock.advance(MAX_AGE_SECONDS)
    assert await issuer_cache.find(A1) is None
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("old") is None


async def test_an_issuer_that_moved_to_another_tenant_has_no_key_of_the_first(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    key, issuer = await get_key(issuer_cache), await get_issuer(issuer_cache)
    stored_issuers.store(A1, "globex", {"keys": [OLD]})
    clock.advance(MAX_AGE_SECONDS)
    assert (await get_issuer(issuer_cache)).tenant == "globex"
    assert not issuer.keys.contains(key)
    assert await get_key(issuer_cache) is not key


async def test_an_unknown_kid_causes_an_early_lookup(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    issuer = await get_issuer(issuer_cache)
    stored_issuers.store(A1, "a1", {"keys": [OLD, NEW]})
    assert await issuer.keys.find("new") is not None
    assert len(stored_issuers.lookups) == 2


async def test_unknown_kids_cause_one_early_lookup_per_second_and_wait_for_it(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock, manual_sleep: ManualSleep
) -> None:
    issuer = await get_issuer(issuer_cache)
    began_at = clock.now
    for number in range(10):
        assert await issuer.keys.find(f"random-{number}") is None
    assert len(stored_issuers.lookups) == 11
    assert clock.now - began_at == pytest.approx(9 * EARLY_LOOKUP_INTERVAL_SECONDS)
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    assert await issuer.keys.find("new") is not None


async def test_requests_with_unknown_kids_share_an_early_lookup(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    issuer = await get_issuer(issuer_cache)
    assert await issuer.keys.find("random") is None
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    found_keys = await asyncio.gather(*(issuer.keys.find("new") for _ in range(100)))
    assert all(found_keys)
    assert len(stored_issuers.lookups) == 3


async def test_a_kid_is_not_refused_by_a_lookup_that_started_before_the_request(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    issuer = await get_issuer(issuer_cache)
    stored_issuers.may_answer.clear()
    before = asyncio.create_task(issuer.keys.find("random"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    clock.advance(EARLY_LOOKUP_INTERVAL_SECONDS)
    after = asyncio.create_task(issuer.keys.find("new"))
    await asyncio.sleep(0)
    stored_issuers.may_answer.set()
    assert await before is None
    assert await after is not None


async def test_a_request_that_waited_for_the_lookup_of_another_request_does_not_repeat_it(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    async def long_sleep(_: float) -> None:
        clock.advance(MAX_AGE_SECONDS)
        await issuers.find(A1)

    issuers = TenantIssuerCache(
        stored_issuers.find_record, fail_to_fetch, call_budget(1e9), clock=clock, sleep=long_sleep
    )
    issuer = await get_issuer(issuers)
    for _ in range(2):
        assert await issuer.keys.find("random") is None
    assert len(stored_issuers.lookups) == 3


async def test_a_request_with_a_known_kid_does_not_wait_for_the_lookup_of_an_unknown_kid(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    issuer = await get_issuer(issuer_cache)
    stored_issuers.may_answer.clear()
    unknown_kid_request = asyncio.create_task(issuer.keys.find("random"))
    await asyncio.sleep(0)
    assert await issuer.keys.find("old") is not None
    assert not unknown_kid_request.done()
    stored_issuers.may_answer.set()
    assert await unknown_kid_request is None


async def test_an_absent_issuer_is_not_looked_up_again_immediately(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    unregistered = "https://id.example/unregistered"
    for _ in range(5):
        assert await issuer_cache.find(unregistered) is None
    assert stored_issuers.lookups == [unregistered]
    stored_issuers.store(unregistered, "newcomer", {"keys": [NEW]})
    clock.advance(NEGATIVE_CACHE_SECONDS)
    assert (await get_issuer(issuer_cache, unregistered)).tenant == "newcomer"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "id.example",
        "http://id.example/a1",
        "https://id.example/a1?x",
        "https://id.example/".ljust(MAX_ISSUER_LENGTH + 1),
    ],
)
async def test_a_url_that_no_issuer_can_have_is_never_looked_up(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers, url: str
) -> None:
    assert await issuer_cache.find(url) is None
    assert stored_issuers.lookups == []


async def test_invented_issuers_are_throttled_while_known_ones_are_served(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    issuer_cache = TenantIssuerCache(stored_issuers.find_record, fail_to_fetch, call_budget(10), clock=clock)
    await get_issuer(issuer_cache)
    refusals = [await _refusal(issuer_cache, f"https://id.example/fetched_uris-up-{number}") for number in range(100)]
    assert all(refusals[20:])
    lookups_before = len(stored_issuers.lookups)
    assert lookups_before <= 20
    clock.advance(MAX_AGE_SECONDS)
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    assert await (await get_issuer(issuer_cache)).keys.find("new") is not None
    assert stored_issuers.lookups[lookups_before:] == [A1]


async def test_known_issuers_are_looked_up_again_although_the_budget_is_used_up(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    empty_budget = call_budget(1e-9)
    issuer_cache = TenantIssuerCache(stored_issuers.find_record, fail_to_fetch, empty_budget, clock=clock)
    await get_issuer(issuer_cache)
    clock.advance(MAX_AGE_SECONDS)
    await get_issuer(issuer_cache)
    assert stored_issuers.lookups == [A1, A1]
    assert isinstance(await _refusal(issuer_cache, A10), Throttled)


async def test_a_throttled_caller_is_told_when_to_retry(stored_issuers: InMemoryIssuers, clock: ManualClock) -> None:
    issuer_cache = TenantIssuerCache(stored_issuers.find_record, fail_to_fetch, call_budget(10), clock=clock)
    refusals = [await _refusal(issuer_cache, f"https://id.example/fetched_uris-up-{number}") for number in range(20)]
    refusal = refusals[-1]
    assert refusal is not None
    retry_ms = refusal.extensions["retryAfterMs"]
    assert isinstance(retry_ms, int)
    clock.advance(retry_ms / 1000)
    await get_issuer(issuer_cache)


async def test_a_new_key_of_a_known_issuer_is_found_during_a_flood_of_invented_issuers(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    issuer_cache = TenantIssuerCache(stored_issuers.find_record, fail_to_fetch, call_budget(10), clock=clock)
    issuer = await get_issuer(issuer_cache)
    for number in range(100):
        await _refusal(issuer_cache, f"https://id.example/fetched_uris-up-{number}")
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    assert await issuer.keys.find("new") is not None


async def _refusal(issuer_cache: TenantIssuerCache, url: str) -> Throttled | None:
    try:
        assert await issuer_cache.find(url) is None
    except Throttled as refusal:
        return refusal
    return None


async def test_the_cache_is_bounded_for_registered_and_for_unregistered_issuers(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    issuer_cache = TenantIssuerCache(
        stored_issuers.find_record, fail_to_fetch, call_budget(1e9), clock=clock, max_cached=8
    )
    for number in range(100):
        stored_issuers.store(f"https://id.example/t{number}", f"t{number}", {"keys": [OLD]})
        await get_issuer(issuer_cache, f"https://id.example/t{number}")
        assert await issuer_cache.find(f"https://id.example/unregistered-{number}") is None
    assert len(issuer_cache._cached) == len(issuer_cache._absence_seen_at) == 8
    assert not issuer_cache._lookups


async def test_a_full_cache_drops_the_issuer_that_was_looked_up_first(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    issuer_cache = TenantIssuerCache(
        stored_issuers.find_record, fail_to_fetch, call_budget(1e9), clock=clock, max_cached=2
    )
    stored_issuers.store("https://id.example/third", "third", {"keys": [OLD]})
    for url in (A1, A10):
        await get_issuer(issuer_cache, url)
    clock.advance(MAX_AGE_SECONDS)
    for url in (A1, "https://id.example/third", A1, A10):
        await get_issuer(issuer_cache, url)
    assert stored_issuers.lookups == [A1, A10, A1, "https://id.example/third", A10]


async def test_an_invalidated_issuer_is_looked_up_before_it_is_used(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    key, issuer = await get_key(issuer_cache), await get_issuer(issuer_cache)
    stored_issuers.store(A1, "a1", {"keys": [NEW]})
    issuer_cache.invalidate(A1)
    assert not issuer.keys.contains(key)
    await get_issuer(issuer_cache)
    assert not issuer.keys.contains(key)


async def test_an_absent_issuer_is_found_after_invalidation(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    late = "https://id.example/late"
    assert await issuer_cache.find(late) is None
    stored_issuers.store(late, "late", {"keys": [NEW]})
    issuer_cache.invalidate(late)
    assert (await get_issuer(issuer_cache, late)).tenant == "late"


async def test_a_lookup_in_progress_during_invalidation_is_not_used(
    issuer_cache: TenantIssuerCache, stored_issuers: InMemoryIssuers
) -> None:
    stored_issuers.may_answer.clear()
    early_request = asyncio.create_task(issuer_cache.find(A1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stored_issuers.store(A1, "globex", {"keys": [NEW]})
    issuer_cache.invalidate(A1)
    late_request = asyncio.create_task(issuer_cache.find(A1))
    stored_issuers.may_answer.set()
    for issuer in await asyncio.gather(early_request, late_request):
        assert issuer is not None
        assert issuer.tenant == "globex"
    assert (await get_issuer(issuer_cache)).tenant == "globex"


async def test_a_slow_lookup_does_not_replace_a_newer_result(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    first_may_answer, is_first_lookup = asyncio.Event(), [True]

    async def find_record(url: str) -> StoredIssuer | None:
        issuer = stored_issuers.issuers.get(url)
        if is_first_lookup and is_first_lookup.pop():
            await first_may_answer.wait()
        return issuer

    issuer_cache = TenantIssuerCache(find_record, fail_to_fetch, call_budget(1e9), clock=clock)
    early_request = asyncio.create_task(issuer_cache.find(A1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stored_issuers.store(A1, "globex", {"keys": [NEW]})
    issuer_cache.invalidate(A1)
    issuer = await get_issuer(issuer_cache)
    first_may_answer.set()
    assert await early_request is issuer
    assert await get_issuer(issuer_cache) is issuer
    assert issuer.tenant == "globex"
    assert await issuer.keys.find("new") is not None


async def test_fetched_keys_stay_as_long_as_their_uri_does_not_change(
    stored_issuers: InMemoryIssuers, clock: ManualClock
) -> None:
    sources = {
        "https://keys.example/1": ScriptedJwksSource({"keys": [OLD]}),
        "https://keys.example/2": ScriptedJwksSource({"keys": [NEW]}),
    }
    fetched_uris: list[str] = []

    def new_fetched_keys(uri: str | None, issuer: str) -> KeySet:
        fetched_uris.append(uri or "")
        return FetchedKeys(sources[uri or ""].fetch, clock=clock)

    issuer_cache = TenantIssuerCache(stored_issuers.find_record, new_fetched_keys, call_budget(1e9), clock=clock)
    first, second = sources
    stored_issuers.issuers[A1] = StoredIssuer(A1, stored_issuers.issuers[A1].tenant, jwks_uri=first)
    key, issuer = await get_key(issuer_cache), await get_issuer(issuer_cache)
    clock.advance(MAX_AGE_SECONDS)
    await get_issuer(issuer_cache)
    assert issuer.keys.contains(key)
    assert fetched_uris == [first]
    stored_issuers.issuers[A1] = StoredIssuer(A1, stored_issuers.issuers[A1].tenant, jwks_uri=second)
    clock.advance(MAX_AGE_SECONDS)
    await get_issuer(issuer_cache)
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("new") is not None
    assert fetched_uris == [first, second]


async def test_no_two_lookups_of_one_issuer_overlap(
    stored_issuers: InMemoryIssuers, clock: ManualClock, manual_sleep: ManualSleep
) -> None:
    running_lookups: list[int] = [0]

    async def find_record(url: str) -> StoredIssuer | None:
        running_lookups.append(running_lookups[-1] + 1)
        await asyncio.sleep(0.001)
        running_lookups.append(running_lookups[-1] - 1)
        return stored_issuers.issuers[url]

    issuer_cache = TenantIssuerCache(find_record, fail_to_fetch, call_budget(1e9), clock=clock, sleep=manual_sleep)
    issuer = await get_issuer(issuer_cache)
    await asyncio.gather(
        *(issuer.keys.find(f"random-{number}") for number in range(50)), *(issuer_cache.find(A1) for _ in range(50))
    )
    assert max(running_lookups) == 1
    assert all(abs(after - before) == 1 for before, after in pairwise(running_lookups))
