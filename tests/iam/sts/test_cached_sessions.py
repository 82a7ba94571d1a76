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

DIFFERENT_SPECS = [
    *(
        make_spec(tenant)
        for tenant in ("a1", "a10", "a1-0", "tenant-read", "read-only")
        for make_spec in (reads, writes)
    ),
    *(
        tenant_session(TenantId("a1"), may_write=False, table_access=table_access)
        for table_access in (TableAccess.SILO, TableAccess.BOTH)
    ),
    *(migration_session(TenantId("a1"), table_access=table_access) for table_access in TableAccess),
    control_plane_session(may_write=False),
    control_plane_session(may_write=True),
]


async def test_a_cached_session_is_given_out_without_a_call_to_sts(cache: SessionCacheFixture) -> None:
    assert await cache.use(reads("acme")) == await cache.use(reads("acme"))
    assert cache.sts.requests == [reads("acme")]
    assert cache.sessions.counts == {"issued": 1, "renewed": 0, "failed": 0, "throttled": 0}


async def test_two_different_specs_never_share_a_session(cache: SessionCacheFixture) -> None:
    for attempt in range(2):
        for spec in DIFFERENT_SPECS:
            key = await cache.use(spec)
            assert key.startswith(f"{spec.role}/{spec.tenant}/{spec.scope}/"), attempt
    keys = {spec: await cache.use(spec) for spec in DIFFERENT_SPECS}
    assert all(keys[one] != keys[other] for one, other in combinations(DIFFERENT_SPECS, 2))
    assert len(cache.sts.requests) == len(DIFFERENT_SPECS)


@pytest.mark.parametrize("first", SessionScope)
async def test_scopes_of_one_role_never_share_a_session(cache: SessionCacheFixture, first: SessionScope) -> None:
    second = next(scope for scope in SessionScope if scope is not first)
    for scope in (first, second, first):
        key = await cache.use(SessionSpec("control-plane", scope=scope))
        assert key.startswith(f"control-plane/None/{scope}/")
    assert [spec.scope for spec in cache.sts.requests] == [first, second]


def test_reads_use_the_read_role_and_writes_the_write_role() -> None:
    assert reads("a1") == SessionSpec("tenant-read", TenantId("a1"), SessionScope.POOL)
    assert writes("a1") == SessionSpec("tenant-write", TenantId("a1"), SessionScope.POOL)
    assert control_plane_session(may_write=False) == SessionSpec("control-plane", None, SessionScope.READ_ONLY)
    assert control_plane_session(may_write=True) == SessionSpec("control-plane", None, SessionScope.FULL)


def test_table_access_decides_the_scope() -> None:
    specs = {
        table_access: tenant_session(TenantId("a1"), may_write=True, table_access=table_access)
        for table_access in TableAccess
    }
    migration_specs = {
        table_access: migration_session(TenantId("a1"), table_access=table_access) for table_access in TableAccess
    }
    assert [spec.scope for spec in specs.values()] == [SessionScope.POOL, SessionScope.SILO, SessionScope.FULL]
    assert [spec.scope for spec in migration_specs.values()] == [
        SessionScope.POOL,
        SessionScope.SILO,
        SessionScope.FULL,
    ]
    assert len({*specs.values(), *migration_specs.values()}) == 6


@pytest.mark.parametrize("name", ["", "A1", "a*", "a1#", "${aws:username}", "a1\n"])
def test_an_invalid_tenant_id_is_rejected(name: str) -> None:
    with pytest.raises(InvalidTenantId):
        tenant_session(TenantId(name), may_write=True)


async def test_a_full_cache_removes_the_least_recently_used_session() -> None:
    cache = session_cache(max_sessions=3)
    keys = {name: await cache.use(reads(name)) for name in ("a1", "a2", "a3")}
    await cache.use(reads("a1"))
    await cache.use(reads("a4"))
    assert await cache.use(reads("a1")) == keys["a1"]
    assert await cache.use(reads("a3")) == keys["a3"]
    assert await cache.use(reads("a2")) != keys["a2"]
    assert len(cache.sessions._sessions) == 3


async def test_a_session_is_given_out_until_shortly_before_it_expires(cache: SessionCacheFixture) -> None:
    first = await cache.use(reads("acme"))
    cache.sts.fail()
    cache.clock.now += 900 - 15 - 0.001
    assert await cache.use(reads("acme")) == first
    cache.wait_for_sts()
    cache.sts.recover()
    cache.clock.now += 1.001
    assert await cache.use(reads("acme")) != first


async def test_a_sessions_lifetime_counts_from_before_the_call_to_sts(cache: SessionCacheFixture) -> None:
    def delay() -> None:
        cache.clock.now += 4

    cache.sts.before_answering = delay
    first = await cache.use(reads("acme"))
    cache.sts.before_answering = lambda: None
    cache.clock.now += 900 - 15 - 4
    assert await cache.use(reads("acme")) != first


async def test_the_requested_lifetime_is_that_of_the_schedule(cache: SessionCacheFixture) -> None:
    await cache.use(reads("acme"))
    assert cache.sts.requested_seconds == [900]


async def test_the_repr_of_credentials_contains_no_secrets(cache: SessionCacheFixture) -> None:
    credentials = await cache.sessions.credentials(reads("acme"))
    assert "secret" not in repr(credentials)
    assert "token" not in repr(credentials)
