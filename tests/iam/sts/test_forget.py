"""`forget` removes the sessions of one tenant, and of no other."""

import asyncio

from keyfence_iam.sts.session_spec import (
    SessionScope,
    SessionSpec,
    control_plane_session,
    migration_session,
    suspender_session,
)
from keyfence_iam.tenant import TenantId
from tests.fakes.sts import SessionCacheFixture, reads, writes

A1 = TenantId("a1")


async def test_forget_removes_the_tenants_sessions_of_all_roles(cache: SessionCacheFixture) -> None:
    specs = (reads("a1"), writes("a1"), migration_session(A1))
    before = [await cache.use(spec) for spec in specs]
    cache.sessions.forget(A1)
    after = [await cache.use(spec) for spec in specs]
    assert not {*before} & {*after}
    assert cache.sts.requests == [*specs, *specs]


async def test_forget_keeps_sessions_of_neighbours_and_of_the_control_plane(cache: SessionCacheFixture) -> None:
    others = (reads("a10"), reads("a1-1"), control_plane_session(may_write=True), suspender_session())
    before = [await cache.use(spec) for spec in others]
    cache.sessions.forget(A1)
    assert [await cache.use(spec) for spec in others] == before


async def test_a_session_that_was_forgotten_while_it_was_requested_is_not_cached(cache: SessionCacheFixture) -> None:
    cache.sts.may_answer.clear()
    caller = asyncio.ensure_future(cache.use(reads("a1")))
    await asyncio.sleep(0)
    cache.sessions.forget(A1)
    cache.sts.may_answer.set()
    first = await caller
    assert await cache.use(reads("a1")) != first
    assert await cache.use(reads("a1")) == await cache.use(reads("a1"))


async def test_a_session_that_was_forgotten_during_its_refresh_is_not_cached_again(cache: SessionCacheFixture) -> None:
    old = await cache.use(reads("a1"))
    cache.clock.now += 600
    cache.sts.may_answer.clear()
    assert await cache.use(reads("a1")) == old
    cache.sessions.forget(A1)
    cache.sts.may_answer.set()
    cache.wait_for_sts()
    requests_before = len(cache.sts.requests)
    await cache.use(reads("a1"))
    assert len(cache.sts.requests) == requests_before + 1


async def test_a_forgotten_tenant_can_get_a_new_session(cache: SessionCacheFixture) -> None:
    cache.sessions.forget(A1)
    assert await cache.use(reads("a1")) == await cache.use(reads("a1"))
    cache.sessions.forget(A1)
    cache.sessions.forget(A1)
    assert await cache.use(reads("a1")) == await cache.use(reads("a1"))


def test_the_migrator_and_the_suspender_use_separate_roles() -> None:
    assert migration_session(A1) == SessionSpec("tenant-migration", A1, SessionScope.POOL)
    assert suspender_session() == SessionSpec("suspender")
