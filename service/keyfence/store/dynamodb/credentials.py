"""Credentials of a fence from `iam.vending`."""

import asyncio
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from keyfence.errors import Internal, Throttled
from keyfence.store.dynamodb.caller import CredentialSource
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


@dataclass(frozen=True, slots=True)
class TenantCredentials:
    """Who only reads gets a session that cannot write, and nobody one for a table that its items are not in."""

    vending: SessionCache

    def tenant(self, tenant: TenantId, *, writes: bool, placement: TableAccess = TableAccess.POOL) -> CredentialSource:
        return SessionCredentials(self.vending, tenant_session(tenant, writes=writes, table_access=placement))

    def control(self, *, writes: bool) -> CredentialSource:
        return SessionCredentials(self.vending, control_plane_session(writes=writes))


@dataclass(frozen=True, slots=True)
class MigratorCredentials:
    """The migrator becomes tenants by a role of its own, which works while they are suspended."""

    vending: SessionCache

    def tenant(self, tenant: TenantId, *, writes: bool, placement: TableAccess = TableAccess.POOL) -> CredentialSource:
        if not writes:
            raise TypeError("the migrator becomes tenants to write")
        return SessionCredentials(self.vending, migration_session(tenant, table_access=placement))

    def control(self, *, writes: bool) -> CredentialSource:
        return SessionCredentials(self.vending, control_plane_session(writes=writes))


@dataclass(frozen=True, slots=True)
class SessionCredentials:
    """The credentials of one fence."""

    vending: SessionCache
    wanted: SessionSpec

    async def __call__(self) -> Credentials:
        try:
            return await self.vending.credentials(self.wanted)
        except SessionThrottled as refusal:
            wait = ceil(refusal.retry_after * 1000)
            raise Throttled("too many tenants begin to be served just now; retry shortly", retryAfterMs=wait) from None
        except SessionUnavailable as refusal:
            wanted = self.wanted
            raise Internal(f"no session of {wanted.role} for {wanted.tenant}: {refusal}") from refusal

    async def replacement(self, refused: Credentials) -> Credentials | None:
        return await self.vending.replace(self.wanted, refused)


class BotoSession(Protocol):
    """What is used of boto3's session."""

    def get_credentials(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class ProcessCredentials:
    """Refreshed by boto3 when they are about to end, which takes a thread, since it may ask somebody."""

    running: BotoSession

    async def __call__(self) -> Credentials:
        return await asyncio.to_thread(self._now)

    def _now(self) -> Credentials:
        if (found := self.running.get_credentials()) is None:
            raise Internal("this process runs with no credentials")
        frozen = found.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token)
