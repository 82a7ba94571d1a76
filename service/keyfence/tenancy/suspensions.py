"""`SuspensionList`: the suspended tenants, stored in the table. `SuspensionPublisher` copies the list to IAM."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from keyfence.errors import Throttled
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.expressions import absent
from keyfence.store.keys import ControlKey
from keyfence.store.table import Table
from keyfence.store.writes import Write, put, update_model
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import SessionUnavailable, suspender_session
from keyfence_iam.suspension import SuspensionFailed, TenantSuspension
from keyfence_iam.suspension.deny_policies import InvalidSuspension, deny_tenants_policy
from keyfence_iam.tenant import TenantId

RETRY_AFTER_MS = 1_000
"""When an operator should retry if STS or IAM fails."""

MAX_SESSION_AGE = timedelta(seconds=3_900)
"""Longer than any STS session lives (one hour). A tenant that was suspended longer ago has no session left, and gets no
new one, so IAM does not need to deny it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspensionList:
    """The tenants whose sessions IAM denies."""

    suspended_at_by_tenant: Mapping[str, datetime] = field(default_factory=dict)
    """The time of the suspension, by the id of the tenant."""
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def tenants(self) -> list[TenantId]:
        return [TenantId(id) for id in sorted(self.suspended_at_by_tenant)]


def drop_oldest_to_fit(suspended_at_by_tenant: Mapping[str, datetime], now: datetime) -> dict[str, datetime]:
    """Drops tenants, the longest suspended first, until the policy that denies them fits into IAM's size limit.

    Raises Throttled if that would drop a tenant that may still have a session."""
    newest_first = sorted(suspended_at_by_tenant, key=lambda id: suspended_at_by_tenant[id], reverse=True)
    while not _fit_into_policy(newest_first):
        oldest = newest_first.pop()
        age = now - suspended_at_by_tenant[oldest]
        if age < MAX_SESSION_AGE:
            retry_ms = int((MAX_SESSION_AGE - age).total_seconds() * 1000)
            raise Throttled(
                "IAM has no room for more suspensions within the hour; retry later, or revoke the roles' sessions",
                retryAfterMs=retry_ms,
            )
    return {id: suspended_at_by_tenant[id] for id in newest_first}


def _fit_into_policy(tenants: Sequence[str]) -> bool:
    try:
        deny_tenants_policy(map(TenantId, tenants))
    except InvalidSuspension:
        return False
    return True


suspensions = entity(SuspensionList, table=ControlKey("SUSPENSIONS", "METADATA"))
suspended_tenants = suspensions.get()


PublishSuspensions = Callable[[Sequence[TenantId]], Awaitable[None]]
"""A function that makes IAM deny the sessions of the given tenants, and allow the sessions of all others."""


@dataclass(frozen=True, slots=True)
class IamSuspensions:
    """Publishes suspensions to IAM, with a session of the role that may change the policies of the tenants' roles."""

    sessions: SessionCache
    connect: Callable[[Credentials], TenantSuspension]

    async def __call__(self, tenants: Sequence[TenantId]) -> None:
        """Raises Throttled if STS or IAM fails. The caller can safely send the same list again."""
        try:
            credentials = await self.sessions.credentials(suspender_session())
            await asyncio.to_thread(self._publish, credentials, tenants)
        except (SessionUnavailable, SuspensionFailed) as error:
            raise Throttled(
                f"the change is stored, but IAM does not enforce it yet: {error}; send the same request again",
                retryAfterMs=RETRY_AFTER_MS,
            ) from error

    def _publish(self, credentials: Credentials, tenants: Sequence[TenantId]) -> None:
        self.connect(credentials).deny(tenants)


@dataclass(frozen=True, slots=True)
class SuspensionPublisher:
    """Changes the suspension list, and publishes it to IAM.

    The list is changed in the transaction that suspends or resumes a tenant, and is published after the transaction."""

    table: Table
    publish_to_iam: PublishSuspensions
    now: Callable[[], datetime] = timestamps.utc_now

    async def writes_to_add(self, tenant: TenantId) -> Sequence[Write[Any]]:
        """Returns the writes that add a tenant to the list. A tenant that is already in the list keeps its old time."""
        return await self._writes(
            lambda suspended_at_by_tenant: drop_oldest_to_fit(
                {tenant: self.now(), **suspended_at_by_tenant}, self.now()
            )
        )

    async def writes_to_remove(self, tenant: TenantId) -> Sequence[Write[Any]]:
        return await self._writes(
            lambda suspended_at_by_tenant: {id: time for id, time in suspended_at_by_tenant.items() if id != tenant}
        )

    async def publish(self) -> None:
        """Publishes the stored list, and publishes it again if it has changed meanwhile. Otherwise a concurrent
        publisher with an older list could undo the newest change."""
        published_list = None
        while (stored_list := await self.table.find(suspended_tenants)) != published_list:
            await self.publish_to_iam(stored_list.tenants if stored_list else [])
            published_list = stored_list

    async def _writes(self, change: Callable[[Mapping[str, datetime]], Mapping[str, datetime]]) -> Sequence[Write[Any]]:
        before, now = await self.table.find(suspended_tenants), self.now()
        suspended_at_by_tenant = change(before.suspended_at_by_tenant if before else {})
        if before is None:
            return (
                put(
                    suspensions,
                    SuspensionList(suspended_at_by_tenant=suspended_at_by_tenant, created_at=now, updated_at=now),
                    when=absent(),
                ),
            )
        after = replace(
            before, suspended_at_by_tenant=suspended_at_by_tenant, updated_at=now, version=before.version + 1
        )
        return (update_model(suspensions, before, after),)
