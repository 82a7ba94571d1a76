"""The fence decides which session is requested, and errors of sessions become Keyfence's errors."""

import pytest

from keyfence.errors import Internal, Throttled
from keyfence.store.dynamodb.credentials import MigratorCredentials, SessionCredentials, TenantCredentials
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import (
    SessionRefused,
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


def recording_credentials(failure: Exception | None = None) -> tuple[TenantCredentials, list[SessionSpec]]:
    requested: list[SessionSpec] = []

    def assume_role(spec: SessionSpec, _: int) -> Credentials:
        requested.append(spec)
        if failure:
            raise failure
        return Credentials(f"{spec.role}/{len(requested)}", "secret", "token")

    return TenantCredentials(SessionCache(assume_role)), requested


async def test_each_fence_gets_a_session_with_no_more_access_than_it_needs() -> None:
    sessions, requested = recording_credentials()
    for source in (
        sessions.for_tenant(ACME, may_write=False),
        sessions.for_tenant(ACME, may_write=True),
        sessions.for_control_plane(may_write=False),
        sessions.for_control_plane(may_write=True),
    ):
        await source()
    assert requested == [
        tenant_session(ACME, may_write=False),
        tenant_session(ACME, may_write=True),
        control_plane_session(may_write=False),
        control_plane_session(may_write=True),
    ]


async def test_a_session_is_for_the_given_tables_and_by_default_for_the_pool() -> None:
    sessions, requested = recording_credentials()
    migrator = MigratorCredentials(sessions.sessions)
    for table_access in TableAccess:
        await sessions.for_tenant(ACME, may_write=True, table_access=table_access)()
        await migrator.for_tenant(ACME, may_write=True, table_access=table_access)()
    assert requested == [
        spec
        for table_access in TableAccess
        for spec in (
            tenant_session(ACME, may_write=True, table_access=table_access),
            migration_session(ACME, table_access=table_access),
        )
    ]
    await migrator.for_tenant(ACME, may_write=True)()
    assert len(requested) == 6, "the session for the pool was cached"


async def test_a_refused_session_is_an_internal_error_with_its_reason_in_the_log() -> None:
    sessions, _ = recording_credentials(SessionRefused("STS rejects AssumeRole"))
    with pytest.raises(Internal, match="no session of tenant-read for acme: STS rejects AssumeRole"):
        await sessions.for_tenant(ACME, may_write=False)()


async def test_during_an_outage_of_sts_the_caller_is_told_to_retry_without_the_reason() -> None:
    sessions, _ = recording_credentials(SessionUnavailable("STS cannot be reached: 10.0.0.1"))
    with pytest.raises(Throttled) as raised:
        await sessions.for_tenant(ACME, may_write=False)()
    assert raised.value.message == "AWS issues no sessions at the moment; retry shortly"
    assert raised.value.extensions == {"retryAfterMs": 1000}


async def test_a_throttled_session_says_when_to_retry() -> None:
    sessions, _ = recording_credentials(SessionThrottled("busy", 0.0201))
    with pytest.raises(Throttled) as raised:
        await sessions.for_tenant(ACME, may_write=False)()
    assert raised.value.extensions == {"retryAfterMs": 21}


async def test_a_denied_session_is_replaced_by_another_for_the_same_fence() -> None:
    sessions, requested = recording_credentials()
    source = SessionCredentials(sessions.sessions, tenant_session(ACME, may_write=True))
    assert source == sessions.for_tenant(ACME, may_write=True)
    assert await source.replace(await source()) is not None
    assert requested == [tenant_session(ACME, may_write=True)] * 2
