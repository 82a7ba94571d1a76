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


async def test_forget_removes_the_tenants_sessions_of_all_roles(stage: SessionCacheFixture) -> None:
    wants = (reads("a1"), writes("a1"), migration_session(A1))
    before = [await stage.use(spec) for spec in wants]
    stage.sessions.forget(A1)
    after = [await stage.use(spec) for spec in wants]
    assert not {*before} & {*after}
    assert stage.sts.requests == [*wants, *wants]


async def test_forget_keeps_sessions_of_neighbours_and_of_the_control_plane(stage: SessionCacheFixture) -> None:
    others = (reads("a10"), reads("a1-1"), control_plane_session(writes=True), suspender_session())
    before = [await stage.use(spec) for spec in others]
    stage.sessions.forget(A1)
    assert [await stage.use(spec) for spec in others] == before


async def test_a_session_that_is_being_requested_is_not_cached(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    waiting = asyncio.ensure_future(stage.use(reads("a1")))
    await asyncio.sleep(0)
    stage.sessions.forget(A1)
    stage.sts.open.set()
    first = await waiting
    assert await stage.use(reads("a1")) != first
    assert await stage.use(reads("a1")) == await stage.use(reads("a1"))


async def test_a_refresh_in_progress_does_not_bring_the_session_back(stage: SessionCacheFixture) -> None:
    old = await stage.use(reads("a1"))
    stage.clock.now += 600
    stage.sts.open.clear()
    assert await stage.use(reads("a1")) == old
    stage.sessions.forget(A1)
    stage.sts.open.set()
    stage.settle()
    renewed = len(stage.sts.requests)
    await stage.use(reads("a1"))
    assert len(stage.sts.requests) == renewed + 1


async def test_a_forgotten_tenant_can_get_a_new_session(stage: SessionCacheFixture) -> None:
    stage.sessions.forget(A1)
    assert await stage.use(reads("a1")) == await stage.use(reads("a1"))
    stage.sessions.forget(A1)
    stage.sessions.forget(A1)
    assert await stage.use(reads("a1")) == await stage.use(reads("a1"))


def test_the_migrator_and_the_suspender_have_roles_of_their_own() -> None:
    assert migration_session(A1) == SessionSpec("tenant-migration", A1, SessionScope.POOL)
    assert suspender_session() == SessionSpec("suspender")
