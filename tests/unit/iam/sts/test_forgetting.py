"""A tenant that is forgotten gets nothing out of anybody's hand, and its neighbours keep what they have."""

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


async def test_what_is_in_hand_of_a_tenant_is_let_go_whatever_role_it_is_of(stage: SessionCacheFixture) -> None:
    wants = (reads("a1"), writes("a1"), migration_session(A1))
    before = [await stage.use(wanted) for wanted in wants]
    stage.sessions.forget(A1)
    after = [await stage.use(wanted) for wanted in wants]
    assert not {*before} & {*after}
    assert stage.sts.requests == [*wants, *wants]


async def test_neighbours_and_those_who_are_no_tenant_keep_theirs(stage: SessionCacheFixture) -> None:
    others = (reads("a10"), reads("a1-1"), control_plane_session(writes=True), suspender_session())
    before = [await stage.use(wanted) for wanted in others]
    stage.sessions.forget(A1)
    assert [await stage.use(wanted) for wanted in others] == before


async def test_what_is_on_its_way_is_not_kept_when_it_comes(stage: SessionCacheFixture) -> None:
    stage.sts.open.clear()
    waiting = asyncio.ensure_future(stage.use(reads("a1")))
    await asyncio.sleep(0)
    stage.sessions.forget(A1)
    stage.sts.open.set()
    first = await waiting
    assert await stage.use(reads("a1")) != first
    assert await stage.use(reads("a1")) == await stage.use(reads("a1"))


async def test_a_renewal_that_is_on_its_way_does_not_bring_it_back(stage: SessionCacheFixture) -> None:
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


async def test_a_tenant_that_comes_back_is_served_as_before(stage: SessionCacheFixture) -> None:
    stage.sessions.forget(A1)
    assert await stage.use(reads("a1")) == await stage.use(reads("a1"))
    stage.sessions.forget(A1)
    stage.sessions.forget(A1)
    assert await stage.use(reads("a1")) == await stage.use(reads("a1"))


def test_the_mover_and_the_suspender_have_roles_of_their_own() -> None:
    assert migration_session(A1) == SessionSpec("tenant-migration", A1, SessionScope.POOL)
    assert suspender_session() == SessionSpec("suspender")
