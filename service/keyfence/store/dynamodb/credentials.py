"""Sources of the credentials that sign calls: an STS session for one fence, or the process itself."""

import asyncio
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from keyfence.errors import Internal, Throttled
from keyfence.store.dynamodb.caller import CredentialSource
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

SESSION_RETRY_MS = 1_000
"""How long a client should wait if STS fails. For the same time the session cache answers with the same failure."""


@dataclass(frozen=True, slots=True)
class TenantCredentials:
    """Sessions for requests. A table handle that only reads gets a session that cannot write. A session for a tenant is
    limited to the tables that contain the tenant's items."""

    sessions: SessionCache

    def for_tenant(
        self, tenant: TenantId, *, may_write: bool, table_access: TableAccess = TableAccess.POOL
    ) -> CredentialSource:
        return SessionCredentials(self.sessions, tenant_session(tenant, may_write=may_write, table_access=table_access))

    def for_control_plane(self, *, may_write: bool) -> CredentialSource:
        return SessionCredentials(self.sessions, control_plane_session(may_write=may_write))


@dataclass(frozen=True, slots=True)
class MigratorCredentials:
    """Sessions for jobs. A session for a tenant uses the role tenant-migration. Only the role migrator can assume the
    role tenant-migration. IAM allows the calls of such a session even while the tenant is suspended."""

    sessions: SessionCache

    def for_tenant(
        self, tenant: TenantId, *, may_write: bool, table_access: TableAccess = TableAccess.POOL
    ) -> CredentialSource:
        if not may_write:
            raise TypeError("a session of the migrator for a tenant can always write; pass may_write=True")
        return SessionCredentials(self.sessions, migration_session(tenant, table_access=table_access))

    def for_control_plane(self, *, may_write: bool) -> CredentialSource:
        return SessionCredentials(self.sessions, control_plane_session(may_write=may_write))


@dataclass(frozen=True, slots=True)
class SessionCredentials:
    """Returns the credentials of one session, from the cache of sessions."""

    sessions: SessionCache
    spec: SessionSpec

    async def __call__(self) -> Credentials:
        """Raises Throttled if a later request may get a session. Raises Internal if STS refuses the session, so that
        the deployment must be changed."""
        try:
            return await self.sessions.credentials(self.spec)
        except SessionThrottled as error:
            wait_ms = ceil(error.retry_after_seconds * 1000)
            raise Throttled("too many new sessions are being requested; retry shortly", retryAfterMs=wait_ms) from None
        except SessionRefused as error:
            raise Internal(f"no session of {self.spec.role} for {self.spec.tenant}: {error}") from error
        except SessionUnavailable as error:
            message = "AWS issues no sessions at the moment; retry shortly"
            raise Throttled(message, retryAfterMs=SESSION_RETRY_MS) from error

    async def replace(self, refused: Credentials) -> Credentials | None:
        """Returns the credentials of a newer session than the refused one, or None if the cache has none."""
        return await self.sessions.replace(self.spec, refused)


class BotoSession(Protocol):
    """The method of a boto3 session that `ProcessCredentials` uses."""

    def get_credentials(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class ProcessCredentials:
    """Returns the credentials of the process itself.

    boto3 renews them before they expire. That can be a blocking call, so they are read in a thread."""

    session: BotoSession

    async def __call__(self) -> Credentials:
        return await asyncio.to_thread(self._read)

    def _read(self) -> Credentials:
        credentials = self.session.get_credentials()
        if credentials is None:
            raise Internal("boto3 finds no AWS credentials for this process")
        frozen = credentials.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token)
