"""The list of suspended tenants and its publication to IAM."""

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
SESSION = timedelta(seconds=3_900)
"""Longer than any session lives. A tenant that was suspended before that has no session, and gets none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspensionList:
    """The tenants whose sessions IAM denies, and since when."""

    since: Mapping[str, datetime] = field(default_factory=dict)
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def tenants(self) -> list[TenantId]:
        return [TenantId(name) for name in sorted(self.since)]


def drop_oldest_to_fit(since: Mapping[str, datetime], now: datetime) -> dict[str, datetime]:
    """Drops the tenants that were suspended longest until the policy fits into IAM's size limit.

    Raises Throttled rather than drop a tenant that may still have a session."""
    newest_first = sorted(since, key=lambda name: since[name], reverse=True)
    while not _fits(newest_first):
        oldest = newest_first.pop()
        if (age := now - since[oldest]) < SESSION:
            wait = int((SESSION - age).total_seconds() * 1000)
            raise Throttled(
                "IAM has no room for more suspensions within the hour; retry later, or revoke the roles' sessions",
                retryAfterMs=wait,
            )
    return {name: since[name] for name in newest_first}


def _fits(tenants: Sequence[str]) -> bool:
    try:
        deny_tenants_policy(map(TenantId, tenants))
    except InvalidSuspension:
        return False
    return True


suspensions = entity(SuspensionList, table=ControlKey("SUSPENSIONS", "METADATA"))
suspended_tenants = suspensions.get()


PublishSuspensions = Callable[[Sequence[TenantId]], Awaitable[None]]
"""Makes IAM deny the sessions of these tenants and of no others."""


@dataclass(frozen=True, slots=True)
class IamSuspensions:
    """Publishes suspensions to IAM, with a session of the role that may change the policies of the tenants' roles."""

    sessions: SessionCache
    connect: Callable[[Credentials], TenantSuspension]

    async def __call__(self, tenants: Sequence[TenantId]) -> None:
        """Raises Throttled if STS or IAM does not accept it. To repeat the change is safe."""
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
    """Changes the list in the transaction that suspends or resumes a tenant, and publishes it after that."""

    table: Table
    publish_to_iam: PublishSuspensions
    now: Callable[[], datetime] = timestamps.utc_now

    async def adding(self, tenant: TenantId) -> Sequence[Write[Any]]:
        return await self._changed(lambda since: drop_oldest_to_fit({tenant: self.now(), **since}, self.now()))

    async def removing(self, tenant: TenantId) -> Sequence[Write[Any]]:
        return await self._changed(lambda since: {name: at for name, at in since.items() if name != tenant})

    async def publish(self) -> None:
        """Publishes until the stored list did not change meanwhile, so that two concurrent publishers lose nothing."""
        published = None
        while (listed := await self.table.find(suspended_tenants)) != published:
            await self.publish_to_iam(listed.tenants if listed else [])
            published = listed

    async def _changed(
        self, change: Callable[[Mapping[str, datetime]], Mapping[str, datetime]]
    ) -> Sequence[Write[Any]]:
        before, now = await self.table.find(suspended_tenants), self.now()
        since = change(before.since if before else {})
        if before is None:
            return (put(suspensions, SuspensionList(since=since, created_at=now, updated_at=now), when=absent()),)
        after = replace(before, since=since, updated_at=now, version=before.version + 1)
        return (update_model(suspensions, before, after),)
