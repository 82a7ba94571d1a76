"""A session is kept under everything that it was wanted for, and no longer than it is good."""

from itertools import combinations

import pytest

from keyfence_iam.sts.session_spec import (
    SessionScope,
    SessionSpec,
    TableAccess,
    control_plane_session,
    migration_session,
    tenant_session,
)
from keyfence_iam.tenant import InvalidTenantId, TenantId
from tests.fakes.sts import SessionCacheFixture, reads, session_cache, writes

NEIGHBOURS = [
    *(want(tenant) for tenant in ("a1", "a10", "a1-0", "tenant-read", "read-only") for want in (reads, writes)),
    *(
        tenant_session(TenantId("a1"), writes=False, table_access=placement)
        for placement in (TableAccess.SILO, TableAccess.BOTH)
    ),
    *(migration_session(TenantId("a1"), table_access=placement) for placement in TableAccess),
    control_plane_session(writes=False),
    control_plane_session(writes=True),
]


async def test_a_session_in_hand_is_handed_out_without_asking_again(stage: SessionCacheFixture) -> None:
    assert await stage.use(reads("acme")) == await stage.use(reads("acme"))
    assert stage.sts.requests == [reads("acme")]
    assert stage.sessions.counts == {"issued": 1, "renewed": 0, "failed": 0, "throttled": 0}


async def test_two_wants_that_differ_in_anything_never_share_a_session(stage: SessionCacheFixture) -> None:
    for round_ in range(2):
        for wanted in NEIGHBOURS:
            key = await stage.use(wanted)
            assert key.startswith(f"{wanted.role}/{wanted.tenant}/{wanted.scope}/"), round_
    keys = {wanted: await stage.use(wanted) for wanted in NEIGHBOURS}
    assert all(keys[one] != keys[other] for one, other in combinations(NEIGHBOURS, 2))
    assert len(stage.sts.requests) == len(NEIGHBOURS)


@pytest.mark.parametrize("first", SessionScope)
async def test_profiles_of_one_role_share_no_session_whichever_is_asked_for_first(
    stage: SessionCacheFixture, first: SessionScope
) -> None:
    second = next(profile for profile in SessionScope if profile is not first)
    for profile in (first, second, first):
        key = await stage.use(SessionSpec("control-plane", scope=profile))
        assert key.startswith(f"control-plane/None/{profile}/")
    assert [wanted.scope for wanted in stage.sts.requests] == [first, second]


def test_who_reads_gets_the_reading_role_and_who_writes_the_writing_one() -> None:
    assert reads("a1") == SessionSpec("tenant-read", TenantId("a1"), SessionScope.POOL)
    assert writes("a1") == SessionSpec("tenant-write", TenantId("a1"), SessionScope.POOL)
    assert control_plane_session(writes=False) == SessionSpec("control-plane", None, SessionScope.READ_ONLY)
    assert control_plane_session(writes=True) == SessionSpec("control-plane", None, SessionScope.FULL)


def test_a_placement_narrows_the_role_and_both_together_are_the_whole_of_it() -> None:
    wanted = {
        placement: tenant_session(TenantId("a1"), writes=True, table_access=placement) for placement in TableAccess
    }
    moved = {placement: migration_session(TenantId("a1"), table_access=placement) for placement in TableAccess}
    assert [one.scope for one in wanted.values()] == [SessionScope.POOL, SessionScope.SILO, SessionScope.FULL]
    assert [one.scope for one in moved.values()] == [SessionScope.POOL, SessionScope.SILO, SessionScope.FULL]
    assert len({*wanted.values(), *moved.values()}) == 6


@pytest.mark.parametrize("name", ["", "A1", "a*", "a1#", "${aws:username}", "a1\n"])
def test_what_is_no_tenant_id_is_never_asked_for(name: str) -> None:
    with pytest.raises(InvalidTenantId):
        tenant_session(TenantId(name), writes=True)


async def test_the_bound_lets_go_what_was_not_used_for_the_longest_time() -> None:
    full = session_cache(max_sessions=3)
    kept = {name: await full.use(reads(name)) for name in ("a1", "a2", "a3")}
    await full.use(reads("a1"))
    await full.use(reads("a4"))
    assert await full.use(reads("a1")) == kept["a1"]
    assert await full.use(reads("a3")) == kept["a3"]
    assert await full.use(reads("a2")) != kept["a2"]
    assert len(full.sessions._sessions) == 3


async def test_a_session_is_good_until_shortly_before_its_end_and_not_after(stage: SessionCacheFixture) -> None:
    first = await stage.use(reads("acme"))
    stage.sts.fail()
    stage.clock.now += 900 - 15 - 0.001
    assert await stage.use(reads("acme")) == first
    stage.settle()
    stage.sts.recover()
    stage.clock.now += 1.001
    assert await stage.use(reads("acme")) != first


async def test_a_sessions_life_begins_before_sts_was_asked(stage: SessionCacheFixture) -> None:
    def slowly() -> None:
        stage.clock.now += 4

    stage.sts.before_answering = slowly
    first = await stage.use(reads("acme"))
    stage.sts.before_answering = lambda: None
    stage.clock.now += 900 - 15 - 4
    assert await stage.use(reads("acme")) != first


async def test_sessions_are_asked_for_as_long_as_the_pace_says(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    assert stage.sts.seconds == [900]


async def test_secrets_are_in_no_repr(stage: SessionCacheFixture) -> None:
    credentials = await stage.sessions.credentials(reads("acme"))
    assert "secret" not in repr(credentials)
    assert "token" not in repr(credentials)
