"""The fence decides which session is requested, and errors of sessions become Keyfence's errors."""

import pytest

from keyfence.errors import Internal, Throttled
from keyfence.store.dynamodb.credentials import MigratorCredentials, SessionCredentials, TenantCredentials
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import (
    SessionSpec,
    SessionThrottled,
    SessionUnavailable,
    TableAccess,
    control_plane_session,
    migration_session,
    tenant_session,
)
from keyfence_iam.tenant import TenantId

ACME = TenantId("acme")


def vended(failure: Exception | None = None) -> tuple[TenantCredentials, list[SessionSpec]]:
    asked: list[SessionSpec] = []

    def assume(expected: SessionSpec, _: int) -> Credentials:
        asked.append(expected)
        if failure:
            raise failure
        return Credentials(f"{expected.role}/{len(asked)}", "secret", "token")

    return TenantCredentials(SessionCache(assume)), asked


async def test_each_fence_gets_a_session_with_no_more_access_than_it_needs() -> None:
    sessions, asked = vended()
    for source in (
        sessions.for_tenant(ACME, writes=False),
        sessions.for_tenant(ACME, writes=True),
        sessions.for_control_plane(writes=False),
        sessions.for_control_plane(writes=True),
    ):
        await source()
    assert asked == [
        tenant_session(ACME, writes=False),
        tenant_session(ACME, writes=True),
        control_plane_session(writes=False),
        control_plane_session(writes=True),
    ]


async def test_a_session_is_for_the_given_tables_and_by_default_for_the_pool() -> None:
    sessions, asked = vended()
    mover = MigratorCredentials(sessions.sessions)
    for placement in TableAccess:
        await sessions.for_tenant(ACME, writes=True, table_access=placement)()
        await mover.for_tenant(ACME, writes=True, table_access=placement)()
    assert asked == [
        expected
        for placement in TableAccess
        for expected in (
            tenant_session(ACME, writes=True, table_access=placement),
            migration_session(ACME, table_access=placement),
        )
    ]
    await mover.for_tenant(ACME, writes=True)()
    assert len(asked) == 6, "the session for the pool was cached"


async def test_a_missing_session_is_an_internal_error_with_its_reason_in_the_log() -> None:
    sessions, _ = vended(SessionUnavailable("STS cannot be reached"))
    with pytest.raises(Internal, match="no session of tenant-read for acme: STS cannot be reached"):
        await sessions.for_tenant(ACME, writes=False)()


async def test_a_throttled_session_says_when_to_retry() -> None:
    sessions, _ = vended(SessionThrottled("busy", 0.0201))
    with pytest.raises(Throttled) as refused:
        await sessions.for_tenant(ACME, writes=False)()
    assert refused.value.extensions == {"retryAfterMs": 21}


async def test_a_denied_session_is_replaced_by_another_for_the_same_fence() -> None:
    sessions, asked = vended()
    source = SessionCredentials(sessions.sessions, tenant_session(ACME, writes=True))
    assert source == sessions.for_tenant(ACME, writes=True)
    assert await source.replace(await source()) is not None
    assert asked == [tenant_session(ACME, writes=True)] * 2
