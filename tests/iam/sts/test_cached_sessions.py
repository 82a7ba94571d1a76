"""A session is cached for its whole spec, until shortly before it expires."""

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


async def test_a_cached_session_is_given_out_without_a_call_to_sts(stage: SessionCacheFixture) -> None:
    assert await stage.use(reads("acme")) == await stage.use(reads("acme"))
    assert stage.sts.requests == [reads("acme")]
    assert stage.sessions.counts == {"issued": 1, "renewed": 0, "failed": 0, "throttled": 0}


async def test_two_different_specs_never_share_a_session(stage: SessionCacheFixture) -> None:
    for round_ in range(2):
        for spec in NEIGHBOURS:
            key = await stage.use(spec)
            assert key.startswith(f"{spec.role}/{spec.tenant}/{spec.scope}/"), round_
    keys = {spec: await stage.use(spec) for spec in NEIGHBOURS}
    assert all(keys[one] != keys[other] for one, other in combinations(NEIGHBOURS, 2))
    assert len(stage.sts.requests) == len(NEIGHBOURS)


@pytest.mark.parametrize("first", SessionScope)
async def test_scopes_of_one_role_never_share_a_session(stage: SessionCacheFixture, first: SessionScope) -> None:
    second = next(profile for profile in SessionScope if profile is not first)
    for profile in (first, second, first):
        key = await stage.use(SessionSpec("control-plane", scope=profile))
        assert key.startswith(f"control-plane/None/{profile}/")
    assert [spec.scope for spec in stage.sts.requests] == [first, second]


def test_reads_use_the_read_role_and_writes_the_write_role() -> None:
    assert reads("a1") == SessionSpec("tenant-read", TenantId("a1"), SessionScope.POOL)
    assert writes("a1") == SessionSpec("tenant-write", TenantId("a1"), SessionScope.POOL)
    assert control_plane_session(writes=False) == SessionSpec("control-plane", None, SessionScope.READ_ONLY)
    assert control_plane_session(writes=True) == SessionSpec("control-plane", None, SessionScope.FULL)


def test_table_access_decides_the_scope() -> None:
    specs = {
        placement: tenant_session(TenantId("a1"), writes=True, table_access=placement) for placement in TableAccess
    }
    migration_specs = {
        placement: migration_session(TenantId("a1"), table_access=placement) for placement in TableAccess
    }
    assert [one.scope for one in specs.values()] == [SessionScope.POOL, SessionScope.SILO, SessionScope.FULL]
    assert [one.scope for one in migration_specs.values()] == [SessionScope.POOL, SessionScope.SILO, SessionScope.FULL]
    assert len({*specs.values(), *migration_specs.values()}) == 6


@pytest.mark.parametrize("name", ["", "A1", "a*", "a1#", "${aws:username}", "a1\n"])
def test_an_invalid_tenant_id_makes_no_spec(name: str) -> None:
    with pytest.raises(InvalidTenantId):
        tenant_session(TenantId(name), writes=True)


async def test_a_full_cache_removes_the_least_recently_used_session() -> None:
    full = session_cache(max_sessions=3)
    keys = {name: await full.use(reads(name)) for name in ("a1", "a2", "a3")}
    await full.use(reads("a1"))
    await full.use(reads("a4"))
    assert await full.use(reads("a1")) == keys["a1"]
    assert await full.use(reads("a3")) == keys["a3"]
    assert await full.use(reads("a2")) != keys["a2"]
    assert len(full.sessions._sessions) == 3


async def test_a_session_is_given_out_until_shortly_before_it_expires(stage: SessionCacheFixture) -> None:
    first = await stage.use(reads("acme"))
    stage.sts.fail()
    stage.clock.now += 900 - 15 - 0.001
    assert await stage.use(reads("acme")) == first
    stage.settle()
    stage.sts.recover()
    stage.clock.now += 1.001
    assert await stage.use(reads("acme")) != first


async def test_a_sessions_lifetime_counts_from_before_the_call_to_sts(stage: SessionCacheFixture) -> None:
    def slowly() -> None:
        stage.clock.now += 4

    stage.sts.before_answering = slowly
    first = await stage.use(reads("acme"))
    stage.sts.before_answering = lambda: None
    stage.clock.now += 900 - 15 - 4
    assert await stage.use(reads("acme")) != first


async def test_sessions_are_requested_for_the_time_in_the_schedule(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    assert stage.sts.seconds == [900]


async def test_secrets_are_in_no_repr(stage: SessionCacheFixture) -> None:
    credentials = await stage.sessions.credentials(reads("acme"))
    assert "secret" not in repr(credentials)
    assert "token" not in repr(credentials)
