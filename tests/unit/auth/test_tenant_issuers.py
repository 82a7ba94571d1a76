"""What is known of a tenant's issuer is fresh, read once for many, and cannot be used to storm its keeper."""

import asyncio
from itertools import pairwise

import pytest

from keyfence.auth.issuer import MAX_ISSUER_LENGTH, Issuer
from keyfence.auth.jwks import VerificationKey
from keyfence.auth.key_sets import FetchedKeys, KeySet
from keyfence.auth.tenant_issuers import ABSENT_SECONDS, EARLY_LOOKUP_INTERVAL, MAX_AGE, TenantIssuers
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
def owned(plane: TenantIssuerRegister, clock: ManualClock, sleeper: ManualSleep) -> TenantIssuers:
    return TenantIssuers(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, sleep=sleeper)


async def known(owned: TenantIssuers, url: str = A1) -> Issuer:
    issuer = await owned.find(url)
    assert issuer is not None
    return issuer


async def key_of(owned: TenantIssuers, kid: str = "old", url: str = A1) -> VerificationKey:
    key = await (await known(owned, url)).keys.find(kid)
    assert key is not None
    return key


async def test_neighbours_with_a_common_beginning_are_two_issuers_of_two_tenants(owned: TenantIssuers) -> None:
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
async def test_an_issuer_is_found_by_every_letter_of_its_url(owned: TenantIssuers, url: str) -> None:
    assert await owned.find(url) is None


async def test_a_fresh_issuer_is_read_once_however_often_it_is_asked(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    issuer = await known(owned)
    clock.advance(MAX_AGE - 0.1)
    assert await known(owned) is issuer
    assert plane.lookups == [A1]


async def test_a_thousand_callers_at_once_cause_one_read_also_when_it_is_old(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    await asyncio.gather(*(owned.find(A1) for _ in range(1000)))
    assert len(plane.lookups) == 1
    clock.advance(MAX_AGE)
    await asyncio.gather(*(owned.find(A1) for _ in range(1000)))
    assert len(plane.lookups) == 2


async def test_a_caller_who_leaves_does_not_take_the_read_with_it(
    owned: TenantIssuers, plane: TenantIssuerRegister
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


async def test_what_was_read_too_long_ago_when_it_came_is_read_again(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    plane.open.clear()
    first = asyncio.create_task(owned.find(A1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(MAX_AGE + 1)
    plane.store(A1, "a1", {"keys": [NEW]})
    second = asyncio.create_task(key_of(owned, "new"))
    await asyncio.sleep(0)
    plane.open.set()
    await first
    assert (await second).kid == "new"


async def test_age_is_counted_from_before_the_read(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    plane.open.clear()
    slow = asyncio.create_task(known(owned))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.advance(MAX_AGE - 1)
    plane.open.set()
    key, issuer = await (await slow).keys.find("old"), await slow
    assert key is not None
    assert issuer.keys.contains(key)
    clock.advance(1)
    assert not issuer.keys.contains(key)


async def test_what_cannot_be_read_is_not_guessed(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key = await key_of(owned)
    issuer = await known(owned)
    plane.down = True
    clock.advance(MAX_AGE)
    assert not issuer.keys.contains(key)
    with pytest.raises(Internal):
        await owned.find(A1)
    plane.down = False
    assert await known(owned) is issuer
    assert issuer.keys.contains(key)


async def test_an_error_that_nobody_waits_for_any_more_is_nobodys(
    owned: TenantIssuers, plane: TenantIssuerRegister
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


async def test_an_unchanged_key_is_the_same_object_after_a_read(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "a1", {"keys": [OLD, NEW]})
    clock.advance(MAX_AGE)
    assert not issuer.keys.contains(key)
    assert await known(owned) is issuer
    assert issuer.keys.contains(key)
    assert await key_of(owned) is key


async def test_a_dropped_key_is_not_held_once_it_has_been_seen_or_the_time_is_over(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "a1", {"keys": [NEW]})
    clock.advance(MAX_AGE)
    assert not issuer.keys.contains(key)
    await known(owned)
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("old") is None


async def test_an_issuer_that_was_freed_is_gone_within_the_time(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    del plane.issuers[A1]
    clock.advance(MAX_AGE)
    assert await owned.find(A1) is None
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("old") is None


async def test_an_issuer_that_became_another_tenants_holds_none_of_the_first_ones_keys(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "globex", {"keys": [OLD]})
    clock.advance(MAX_AGE)
    assert (await known(owned)).tenant == "globex"
    assert not issuer.keys.contains(key)
    assert await key_of(owned) is not key


async def test_an_unknown_kid_is_looked_for_at_once(owned: TenantIssuers, plane: TenantIssuerRegister) -> None:
    issuer = await known(owned)
    plane.store(A1, "a1", {"keys": [OLD, NEW]})
    assert await issuer.keys.find("new") is not None
    assert len(plane.lookups) == 2


async def test_unknown_kids_are_looked_for_once_a_second_and_wait_for_that(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock, sleeper: ManualSleep
) -> None:
    issuer = await known(owned)
    began_at = clock.now
    for number in range(10):
        assert await issuer.keys.find(f"random-{number}") is None
    assert len(plane.lookups) == 11
    assert clock.now - began_at == pytest.approx(9 * EARLY_LOOKUP_INTERVAL)
    plane.store(A1, "a1", {"keys": [NEW]})
    assert await issuer.keys.find("new") is not None


async def test_those_with_unknown_kids_wait_together(owned: TenantIssuers, plane: TenantIssuerRegister) -> None:
    issuer = await known(owned)
    assert await issuer.keys.find("random") is None
    plane.store(A1, "a1", {"keys": [NEW]})
    found = await asyncio.gather(*(issuer.keys.find("new") for _ in range(100)))
    assert all(found)
    assert len(plane.lookups) == 3


async def test_a_kid_is_not_called_wrong_by_a_look_that_began_before_it_came(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    issuer = await known(owned)
    plane.open.clear()
    before = asyncio.create_task(issuer.keys.find("random"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    plane.store(A1, "a1", {"keys": [NEW]})
    clock.advance(EARLY_LOOKUP_INTERVAL)
    after = asyncio.create_task(issuer.keys.find("new"))
    await asyncio.sleep(0)
    plane.open.set()
    assert await before is None
    assert await after is not None


async def test_who_waited_while_others_read_does_not_read_again(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    async def long_sleep(_: float) -> None:
        clock.advance(MAX_AGE)
        await issuers.find(A1)

    issuers = TenantIssuers(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, sleep=long_sleep)
    issuer = await known(issuers)
    for _ in range(2):
        assert await issuer.keys.find("random") is None
    assert len(plane.lookups) == 3


async def test_known_kids_do_not_wait_for_unknown_ones(owned: TenantIssuers, plane: TenantIssuerRegister) -> None:
    issuer = await known(owned)
    plane.open.clear()
    stranger = asyncio.create_task(issuer.keys.find("random"))
    await asyncio.sleep(0)
    assert await issuer.keys.find("old") is not None
    assert not stranger.done()
    plane.open.set()
    assert await stranger is None


async def test_an_issuer_that_does_not_exist_is_not_asked_for_again_at_once(
    owned: TenantIssuers, plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    nobody = "https://id.example/nobody"
    for _ in range(5):
        assert await owned.find(nobody) is None
    assert plane.lookups == [nobody]
    plane.store(nobody, "nobody", {"keys": [NEW]})
    clock.advance(ABSENT_SECONDS)
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
async def test_what_no_tenant_can_own_is_never_looked_up(
    owned: TenantIssuers, plane: TenantIssuerRegister, url: str
) -> None:
    assert await owned.find(url) is None
    assert plane.lookups == []


async def test_made_up_issuers_are_throttled_while_known_ones_are_served(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    owned = TenantIssuers(plane.look_up, fail_to_fetch, call_budget(10), clock=clock)
    await known(owned)
    refusals = [await _refusal(owned, f"https://id.example/made-up-{number}") for number in range(100)]
    assert all(refusals[20:])
    asked = len(plane.lookups)
    assert asked <= 20
    clock.advance(MAX_AGE)
    plane.store(A1, "a1", {"keys": [NEW]})
    assert await (await known(owned)).keys.find("new") is not None
    assert plane.lookups[asked:] == [A1]


async def test_known_issuers_are_read_anew_when_the_allowance_is_spent(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    spent = call_budget(1e-9)
    owned = TenantIssuers(plane.look_up, fail_to_fetch, spent, clock=clock)
    await known(owned)
    clock.advance(MAX_AGE)
    await known(owned)
    assert plane.lookups == [A1, A1]
    assert isinstance(await _refusal(owned, A10), Throttled)


async def test_who_is_throttled_is_told_when_to_come_again(plane: TenantIssuerRegister, clock: ManualClock) -> None:
    owned = TenantIssuers(plane.look_up, fail_to_fetch, call_budget(10), clock=clock)
    refusals = [await _refusal(owned, f"https://id.example/made-up-{number}") for number in range(20)]
    refusal = refusals[-1]
    assert refusal is not None
    wait = refusal.extensions["retryAfterMs"]
    assert isinstance(wait, int)
    clock.advance(wait / 1000)
    await known(owned)


async def test_a_new_key_of_a_known_issuer_is_found_in_the_middle_of_made_up_issuers(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    owned = TenantIssuers(plane.look_up, fail_to_fetch, call_budget(10), clock=clock)
    issuer = await known(owned)
    for number in range(100):
        await _refusal(owned, f"https://id.example/made-up-{number}")
    plane.store(A1, "a1", {"keys": [NEW]})
    assert await issuer.keys.find("new") is not None


async def _refusal(owned: TenantIssuers, url: str) -> Throttled | None:
    try:
        assert await owned.find(url) is None
    except Throttled as refusal:
        return refusal
    return None


async def test_memory_is_bounded_for_issuers_that_exist_and_for_those_that_do_not(
    plane: TenantIssuerRegister, clock: ManualClock
) -> None:
    owned = TenantIssuers(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, max_cached=8)
    for number in range(100):
        plane.store(f"https://id.example/t{number}", f"t{number}", {"keys": [OLD]})
        await known(owned, f"https://id.example/t{number}")
        assert await owned.find(f"https://id.example/nobody-{number}") is None
    assert len(owned._cached) == len(owned._absent) == 8
    assert not owned._lookups


async def test_the_issuer_that_was_read_longest_ago_makes_room(plane: TenantIssuerRegister, clock: ManualClock) -> None:
    owned = TenantIssuers(plane.look_up, fail_to_fetch, call_budget(1e9), clock=clock, max_cached=2)
    plane.store("https://id.example/third", "third", {"keys": [OLD]})
    for url in (A1, A10):
        await known(owned, url)
    clock.advance(MAX_AGE)
    for url in (A1, "https://id.example/third", A1, A10):
        await known(owned, url)
    assert plane.lookups == [A1, A10, A1, "https://id.example/third", A10]


async def test_what_is_doubted_is_read_before_it_is_believed(owned: TenantIssuers, plane: TenantIssuerRegister) -> None:
    key, issuer = await key_of(owned), await known(owned)
    plane.store(A1, "a1", {"keys": [NEW]})
    owned.invalidate(A1)
    assert not issuer.keys.contains(key)
    await known(owned)
    assert not issuer.keys.contains(key)


async def test_an_issuer_that_did_not_exist_is_found_once_that_is_doubted(
    owned: TenantIssuers, plane: TenantIssuerRegister
) -> None:
    late = "https://id.example/late"
    assert await owned.find(late) is None
    plane.store(late, "late", {"keys": [NEW]})
    owned.invalidate(late)
    assert (await known(owned, late)).tenant == "late"


async def test_a_read_that_was_on_its_way_when_it_was_doubted_is_not_believed(
    owned: TenantIssuers, plane: TenantIssuerRegister
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


async def test_a_read_that_took_longer_takes_nothing_back(plane: TenantIssuerRegister, clock: ManualClock) -> None:
    gate, shut = asyncio.Event(), [True]

    async def look_up(url: str) -> StoredIssuer | None:
        found = plane.issuers.get(url)
        if shut and shut.pop():
            await gate.wait()
        return found

    owned = TenantIssuers(look_up, fail_to_fetch, call_budget(1e9), clock=clock)
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


async def test_published_keys_stay_while_their_address_does_and_go_with_it(
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

    owned = TenantIssuers(plane.look_up, published, call_budget(1e9), clock=clock)
    first, second = sources
    plane.issuers[A1] = StoredIssuer(A1, plane.issuers[A1].tenant, jwks_uri=first)
    key, issuer = await key_of(owned), await known(owned)
    clock.advance(MAX_AGE)
    await known(owned)
    assert issuer.keys.contains(key)
    assert made == [first]
    plane.issuers[A1] = StoredIssuer(A1, plane.issuers[A1].tenant, jwks_uri=second)
    clock.advance(MAX_AGE)
    await known(owned)
    assert not issuer.keys.contains(key)
    assert await issuer.keys.find("new") is not None
    assert made == [first, second]


async def test_no_two_reads_of_one_issuer_overlap(
    plane: TenantIssuerRegister, clock: ManualClock, sleeper: ManualSleep
) -> None:
    under_way: list[int] = [0]

    async def look_up(url: str) -> StoredIssuer | None:
        under_way.append(under_way[-1] + 1)
        await asyncio.sleep(0.001)
        under_way.append(under_way[-1] - 1)
        return plane.issuers[url]

    owned = TenantIssuers(look_up, fail_to_fetch, call_budget(1e9), clock=clock, sleep=sleeper)
    issuer = await known(owned)
    await asyncio.gather(
        *(issuer.keys.find(f"random-{number}") for number in range(50)), *(owned.find(A1) for _ in range(50))
    )
    assert max(under_way) == 1
    assert all(abs(after - before) == 1 for before, after in pairwise(under_way))
