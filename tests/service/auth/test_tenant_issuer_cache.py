"""A tenant's issuer is fresh, looked up once for many requests, and cannot be used to flood the table with reads."""

import asyncio
from itertools import pairwise

import pytest

from keyfence.auth.issuer import MAX_ISSUER_LENGTH, Issuer
from keyfence.auth.jwks_refresh import FetchedKeys
from keyfence.auth.key_set import KeySet
from keyfence.auth.signature_algorithms import VerificationKey
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
from tests.fakes.jwks_source import ScriptedJwksSource
from tests.fakes.tenant_issuer_register import ManualSleep, StoredIssuer, TenantIssuerRegister, fail_to_fetch

A1, A10 = "https://id.example/a1", "https://id.example/a10"
OLD = jwk(private_key("ES256", "old"), "old")
NEW = jwk(private_key("ES256", "new"), "new")


@pytest.fixture
def plane() -> TenantIssuerRegister:
    plane = TenantIssuerRegister()
    plane.store(A1, "a1", {"keys": [OLD]})
    plane.store(A10, "a10", {"keys": [NEW]})
    return plane


@pytest.fixture
def sleeper(clock: ManualClock) -> ManualSleep:
    return ManualSleep(clock)


@pytest.fixture
def owned(plane: TenantIssuerRegister, clock: ManualClock, sleeper: ManualSleep) -> TenantIssuerCache:
    return TenantIssuerCache(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, sleep=sleeper)


async def known(owned: TenantIssuerCache, url: str = A1) -> Issuer:
    issuer = await owned.find(url)
    assert issuer is not None
    return issuer


async def key_of(owned: TenantIssuerCache, kid: str = "old", url: str = A1) -> VerificationKey:
    key = await (await known(owned, url)).keys.find(kid)
    assert key is not None
    return key


async def test_issuers_with_a_common_prefix_belong_to_different_tenants(owned: TenantIssuerCache) -> None:
    first, tenth = await known(owned, A1), await known(owned, A10)
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
async def test_an_issuer_is_found_by_its_exact_url_only(owned: TenantIssuerCache, url: str) -> None:
    assert await owned.find(url) is None


async def test_a_fresh_issuer_is_looked_up_once_for_any_number_of_requests(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    issuer = await known(owned)
    clock.advance(MAX_AGE_SECONDS - 0.1)
    assert await known(owned) is issuer
    assert plane.lookups == [A1]


async def test_a_thousand_concurrent_requests_cause_one_lookup_even_if_the_issuer_is_old(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    await asyncio.gather(*(owned.find(A1) for _ in range(1000)))
    assert len(plane.lookups) == 1
    clock.advance(MAX_AGE_SECONDS)
    await asyncio.gather(*(owned.find(A1) for _ in range(1000)))
    assert len(plane.lookups) == 2


async def test_a_canceled_request_does_not_cancel_the_lookup(
    owned: TenantIssuerCache, plane: TenantIssuerRegister
) -> None:
    plane.open.clear()
    first, second = asyncio.create_task(owned.find(A1)), asyncio.create_task(owned.find(A1))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    plane.open.set()
    assert await second is not None
    assert first.cancelled()
    assert plane.lookups == [A1]


async def test_a_lookup_that_took_longer_than_max_age_is_repeated(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    plane.open.clear()
    first = asyncio.create_task(owned.find(A1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(MAX_AGE_SECONDS + 1)
    plane.store(A1, "a1", {"keys": [NEW]})
    second = asyncio.create_task(key_of(owned, "new"))
    await asyncio.sleep(0)
    plane.open.set()
    await first
    assert (await second).kid == "new"


async def test_age_is_counted_from_the_start_of_the_lookup(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    plane.open.clear()
    slow = asyncio.create_task(known(owned))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(MAX_AGE_SECONDS - 1)
    plane.open.set()
    key, issuer = await (await slow).keys.find("old"), await slow
    assert key is not None
    assert issuer.keys.contains(key)
    clock.advance(1)
    assert not issuer.keys.contains(key)


async def test_an_issuer_that_cannot_be_looked_up_is_not_used(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key = await key_of(owned)
    issuer = await known(owned)
    plane.down = True
    clock.advance(MAX_AGE_SECONDS)
    assert not issuer.keys.contains(key)
    with pytest.raises(Internal):
        await owned.find(A1)
    plane.down = False
    assert await known(owned) is issuer
    assert issuer.keys.contains(key)


async def test_an_error_of_a_lookup_that_nobody_waits_for_is_not_reported(
    owned: TenantIssuerCache, plane: TenantIssuerRegister
) -> None:
    plane.open.clear()
    plane.down = True
    gone = asyncio.create_task(owned.find(A1))
    await asyncio.sleep(0)
    gone.cancel()
    plane.open.set()
    await asyncio.sleep(0.01)
    plane.down = False
    await known(owned)


async def test_an_unchanged_key_is_the_same_object_after_a_lookup(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "a1", {"keys": [OLD, NEW]})
    clock.advance(MAX_AGE_SECONDS)
    assert not issuer.keys.contains(key)
    assert await known(owned) is issuer
    assert issuer.keys.contains(key)
    assert await key_of(owned) is key


async def test_a_removed_key_is_invalid_after_a_lookup_or_after_max_age(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "a1", {"keys": [NEW]})
    clock.advance(MAX_AGE_SECONDS)
    assert not issuer.keys.contains(key)
    await known(owned)
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("old") is None


async def test_a_deleted_issuer_is_gone_within_max_age(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    del plane.issuers[A1]
    clock.advance(MAX_AGE_SECONDS)
    assert await owned.find(A1) is None
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("old") is None


async def test_an_issuer_that_moved_to_another_tenant_has_no_key_of_the_first(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "globex", {"keys": [OLD]})
    clock.advance(MAX_AGE_SECONDS)
    assert (await known(owned)).tenant == "globex"
    assert not issuer.keys.contains(key)
    assert await key_of(owned) is not key


async def test_an_unknown_kid_causes_an_early_lookup(owned: TenantIssuerCache, plane: TenantIssuerRegister) -> None:
    issuer = await known(owned)
    plane.store(A1, "a1", {"keys": [OLD, NEW]})
    assert await issuer.keys.find("new") is not None
    assert len(plane.lookups) == 2


async def test_unknown_kids_cause_one_early_lookup_per_second_and_wait_for_it(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock, sleeper: ManualSleep
) -> None:
    issuer = await known(owned)
    began_at = clock.now
    for number in range(10):
        assert await issuer.keys.find(f"random-{number}") is None
    assert len(plane.lookups) == 11
    assert clock.now - began_at == pytest.approx(9 * EARLY_LOOKUP_INTERVAL_SECONDS)
    plane.store(A1, "a1", {"keys": [NEW]})
    assert await issuer.keys.find("new") is not None


async def test_requests_with_unknown_kids_share_an_early_lookup(
    owned: TenantIssuerCache, plane: TenantIssuerRegister
) -> None:
    issuer = await known(owned)
    assert await issuer.keys.find("random") is None
    plane.store(A1, "a1", {"keys": [NEW]})
    found = await asyncio.gather(*(issuer.keys.find("new") for _ in range(100)))
    assert all(found)
    assert len(plane.lookups) == 3


async def test_a_kid_is_not_refused_by_a_lookup_that_started_before_the_request(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    issuer = await known(owned)
    plane.open.clear()
    before = asyncio.create_task(issuer.keys.find("random"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    plane.store(A1, "a1", {"keys": [NEW]})
    clock.advance(EARLY_LOOKUP_INTERVAL_SECONDS)
    after = asyncio.create_task(issuer.keys.find("new"))
    await asyncio.sleep(0)
    plane.open.set()
    assert await before is None
    assert await after is not None


async def test_a_request_that_waited_for_a_lookup_of_others_does_not_repeat_it(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    async def long_sleep(_: float) -> None:
        clock.advance(MAX_AGE_SECONDS)
        await issuers.find(A1)

    issuers = TenantIssuerCache(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, sleep=long_sleep)
    issuer = await known(issuers)
    for _ in range(2):
        assert await issuer.keys.find("random") is None
    assert len(plane.lookups) == 3


async def test_known_kids_do_not_wait_for_unknown_ones(owned: TenantIssuerCache, plane: TenantIssuerRegister) -> None:
    issuer = await known(owned)
    plane.open.clear()
    stranger = asyncio.create_task(issuer.keys.find("random"))
    await asyncio.sleep(0)
    assert await issuer.keys.find("old") is not None
    assert not stranger.done()
    plane.open.set()
    assert await stranger is None


async def test_an_absent_issuer_is_not_looked_up_again_immediately(
    owned: TenantIssuerCache, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    nobody = "https://id.example/nobody"
    for _ in range(5):
        assert await owned.find(nobody) is None
    assert plane.lookups == [nobody]
    plane.store(nobody, "nobody", {"keys": [NEW]})
    clock.advance(NEGATIVE_CACHE_SECONDS)
    assert (await known(owned, nobody)).tenant == "nobody"


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
    owned: TenantIssuerCache, plane: TenantIssuerRegister, url: str
) -> None:
    assert await owned.find(url) is None
    assert plane.lookups == []


async def test_invented_issuers_are_throttled_while_known_ones_are_served(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    owned = TenantIssuerCache(plane.look_up, fail_to_fetch, call_budget(10), clock=clock)
    await known(owned)
    refusals = [await _refusal(owned, f"https://id.example/made-up-{number}") for number in range(100)]
    assert all(refusals[20:])
    asked = len(plane.lookups)
    assert asked <= 20
    clock.advance(MAX_AGE_SECONDS)
    plane.store(A1, "a1", {"keys": [NEW]})
    assert await (await known(owned)).keys.find("new") is not None
    assert plane.lookups[asked:] == [A1]


async def test_known_issuers_are_looked_up_again_although_the_budget_is_used_up(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    spent = call_budget(1e-9)
    owned = TenantIssuerCache(plane.look_up, fail_to_fetch, spent, clock=clock)
    await known(owned)
    clock.advance(MAX_AGE_SECONDS)
    await known(owned)
    assert plane.lookups == [A1, A1]
    assert isinstance(await _refusal(owned, A10), Throttled)


async def test_a_throttled_caller_is_told_when_to_retry(plane: TenantIssuerRegister, clock: ManualClock) -> None:
    owned = TenantIssuerCache(plane.look_up, fail_to_fetch, call_budget(10), clock=clock)
    refusals = [await _refusal(owned, f"https://id.example/made-up-{number}") for number in range(20)]
    refusal = refusals[-1]
    assert refusal is not None
    wait = refusal.extensions["retryAfterMs"]
    assert isinstance(wait, int)
    clock.advance(wait / 1000)
    await known(owned)


async def test_a_new_key_of_a_known_issuer_is_found_during_a_flood_of_invented_issuers(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    owned = TenantIssuerCache(plane.look_up, fail_to_fetch, call_budget(10), clock=clock)
    issuer = await known(owned)
    for number in range(100):
        await _refusal(owned, f"https://id.example/made-up-{number}")
    plane.store(A1, "a1", {"keys": [NEW]})
    assert await issuer.keys.find("new") is not None


async def _refusal(owned: TenantIssuerCache, url: str) -> Throttled | None:
    try:
        assert await owned.find(url) is None
    except Throttled as refusal:
        return refusal
    return None


async def test_memory_is_bounded_for_issuers_that_exist_and_for_those_that_do_not(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    owned = TenantIssuerCache(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, max_cached=8)
    for number in range(100):
        plane.store(f"https://id.example/t{number}", f"t{number}", {"keys": [OLD]})
        await known(owned, f"https://id.example/t{number}")
        assert await owned.find(f"https://id.example/nobody-{number}") is None
    assert len(owned._cached) == len(owned._absence_seen_at) == 8
    assert not owned._lookups


async def test_a_full_cache_drops_the_issuer_that_was_looked_up_first(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    owned = TenantIssuerCache(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, max_cached=2)
    plane.store("https://id.example/third", "third", {"keys": [OLD]})
    for url in (A1, A10):
        await known(owned, url)
    clock.advance(MAX_AGE_SECONDS)
    for url in (A1, "https://id.example/third", A1, A10):
        await known(owned, url)
    assert plane.lookups == [A1, A10, A1, "https://id.example/third", A10]


async def test_an_invalidated_issuer_is_looked_up_before_it_is_used(
    owned: TenantIssuerCache, plane: TenantIssuerRegister
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "a1", {"keys": [NEW]})
    owned.invalidate(A1)
    assert not issuer.keys.contains(key)
    await known(owned)
    assert not issuer.keys.contains(key)


async def test_an_absent_issuer_is_found_after_invalidation(
    owned: TenantIssuerCache, plane: TenantIssuerRegister
) -> None:
    late = "https://id.example/late"
    assert await owned.find(late) is None
    plane.store(late, "late", {"keys": [NEW]})
    owned.invalidate(late)
    assert (await known(owned, late)).tenant == "late"


async def test_a_lookup_in_progress_during_invalidation_is_not_used(
    owned: TenantIssuerCache, plane: TenantIssuerRegister
) -> None:
    plane.open.clear()
    late = asyncio.create_task(owned.find(A1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    plane.store(A1, "globex", {"keys": [NEW]})
    owned.invalidate(A1)
    fresh = asyncio.create_task(owned.find(A1))
    plane.open.set()
    for issuer in await asyncio.gather(late, fresh):
        assert issuer is not None
        assert issuer.tenant == "globex"
    assert (await known(owned)).tenant == "globex"


async def test_a_slow_lookup_does_not_replace_a_newer_result(plane: TenantIssuerRegister, clock: ManualClock) -> None:
    gate, shut = asyncio.Event(), [True]

    async def look_up(url: str) -> StoredIssuer | None:
        found = plane.issuers.get(url)
        if shut and shut.pop():
            await gate.wait()
        return found

    owned = TenantIssuerCache(look_up, fail_to_fetch, call_budget(1e9), clock=clock)
    late = asyncio.create_task(owned.find(A1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    plane.store(A1, "globex", {"keys": [NEW]})
    owned.invalidate(A1)
    issuer = await known(owned)
    gate.set()
    assert await late is issuer
    assert await known(owned) is issuer
    assert issuer.tenant == "globex"
    assert await issuer.keys.find("new") is not None


async def test_fetched_keys_stay_as_long_as_their_uri_does_not_change(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    sources = {
        "https://keys.example/1": ScriptedJwksSource({"keys": [OLD]}),
        "https://keys.example/2": ScriptedJwksSource({"keys": [NEW]}),
    }
    made: list[str] = []

    def published(uri: str, issuer: str) -> KeySet:
        made.append(uri)
        return FetchedKeys(sources[uri].fetch, clock=clock)

    owned = TenantIssuerCache(plane.look_up, published, call_budget(1e9), clock=clock)
    first, second = sources
    plane.issuers[A1] = StoredIssuer(A1, plane.issuers[A1].tenant, jwks_uri=first)
    key, issuer = await key_of(owned), await known(owned)
    clock.advance(MAX_AGE_SECONDS)
    await known(owned)
    assert issuer.keys.contains(key)
    assert made == [first]
    plane.issuers[A1] = StoredIssuer(A1, plane.issuers[A1].tenant, jwks_uri=second)
    clock.advance(MAX_AGE_SECONDS)
    await known(owned)
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("new") is not None
    assert made == [first, second]


async def test_no_two_lookups_of_one_issuer_overlap(
    plane: TenantIssuerRegister, clock: ManualClock, sleeper: ManualSleep
) -> None:
    under_way: list[int] = [0]

    async def look_up(url: str) -> StoredIssuer | None:
        under_way.append(under_way[-1] + 1)
        await asyncio.sleep(0.001)
        under_way.append(under_way[-1] - 1)
        return plane.issuers[url]

    owned = TenantIssuerCache(look_up, fail_to_fetch, call_budget(1e9), clock=clock, sleep=sleeper)
    issuer = await known(owned)
    await asyncio.gather(
        *(issuer.keys.find(f"random-{number}") for number in range(50)), *(owned.find(A1) for _ in range(50))
    )
    assert max(under_way) == 1
    assert all(abs(after - before) == 1 for before, after in pairwise(under_way))
