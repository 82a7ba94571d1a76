"""`Revocation`: a revoked token, with its keys and its repository. `RevocationCheck`: refuses revoked tokens."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from keyfence.auth.claims import CLOCK_SKEW_SECONDS, MAX_CLAIM_LENGTH, MAX_TOKEN_LIFETIME_SECONDS
from keyfence.errors import BadInput, Unauthenticated
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, put
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """A revoked token. `jti` is its id. After `ttl`, in seconds since 1970, the token itself has expired."""

    jti: str
    actor: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1

    def is_effective(self, now: datetime) -> bool:
        """Compares the time itself, because DynamoDB may delete an item days after its `ttl`."""
        return now.timestamp() < self.ttl


def new_revocation(jti: str, actor: str, now: datetime) -> Revocation:
    """Returns a revocation that lasts until every token that was issued before `now` has expired.

    The clocks of the issuer and of this server may each be wrong by CLOCK_SKEW_SECONDS."""
    expires_at = now + timedelta(seconds=MAX_TOKEN_LIFETIME_SECONDS + 2 * CLOCK_SKEW_SECONDS + 1)
    return Revocation(
        jti=checked_jti(jti), actor=actor, ttl=int(expires_at.timestamp()), created_at=now, updated_at=now
    )


def checked_jti(jti: str) -> str:
    if not 0 < len(jti) <= MAX_CLAIM_LENGTH or not jti.isprintable():
        raise BadInput(f"jti must be 1 to {MAX_CLAIM_LENGTH} printable characters", field="jti")
    return jti


revocations = entity(Revocation, table=TenantKey("SESSION#{jti}", "METADATA"))

revocation_of_session = revocations.get()


@dataclass(frozen=True, slots=True)
class RevocationRepository:
    """The revoked tokens of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def is_revoked(self, jti: str) -> bool:
        found = await self.table.find(revocation_of_session, jti=jti)
        return found is not None and found.is_effective(self.now())

    async def revoke(self, jti: str, actor: str) -> None:
        """Revokes a token. Does not check that the token exists, because the service has no list of tokens."""
        revocation = new_revocation(jti, actor, self.now())
        await self.table.write(put(revocations, revocation), note=ActivityNote("session.revoked", revocation.jti))


MAX_REMEMBERED = 10_000
"""Bounds the memory. If there are more tokens, the oldest entry is dropped and that token is read again."""

Token = tuple[TenantId, str]
"""A tenant and the `jti` of a token."""


@dataclass(slots=True)
class RevocationCheck:
    """Refuses revoked tokens. Remembers for `remember_seconds` that a token is valid, but never that it is revoked."""

    remember_seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    _valid_until: dict[Token, float] = field(default_factory=dict)

    async def check(self, tenant: TenantId, jti: str, repository: Callable[[], RevocationRepository]) -> None:
        """Raises Unauthenticated if the token is revoked. Calls `repository` only if the table has to be read."""
        now, token = self.clock(), (tenant, jti)
        if now < self._valid_until.get(token, now):
            return
        self._valid_until.pop(token, None)
        if await repository().is_revoked(jti):
            raise Unauthenticated("the token has been revoked")
        self._remember(token, now + self.remember_seconds)

    def _remember(self, token: Token, until: float) -> None:
        if not self.remember_seconds:
            return
        if len(self._valid_until) >= MAX_REMEMBERED:
            self._valid_until.pop(next(iter(self._valid_until)))
        self._valid_until[token] = until
