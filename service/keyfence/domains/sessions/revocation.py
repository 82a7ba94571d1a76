"""`Revocation`: a revoked token; its keys, its repository, and the check of every request."""

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
    """A revoked token. After `ttl`, in seconds since 1970, every token with this id has expired."""

    jti: str
    by: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1

    def is_effective(self, now: datetime) -> bool:
        """Whether tokens with this id are refused. DynamoDB may delete the item days after its `ttl`."""
        return now.timestamp() < self.ttl


def new_revocation(jti: str, by: str, now: datetime) -> Revocation:
    """Returns a revocation that outlives every token that was issued until now, with the largest allowed clock skew."""
    last = now + timedelta(seconds=MAX_TOKEN_LIFETIME_SECONDS + 2 * CLOCK_SKEW_SECONDS + 1)
    return Revocation(jti=checked_jti(jti), by=by, ttl=int(last.timestamp()), created_at=now, updated_at=now)


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

    async def revoke(self, jti: str, by: str) -> None:
        """Revokes a token. The service has no list of tokens, so it does not check that there is one with this id."""
        revocation = new_revocation(jti, by, self.now())
        await self.table.write(put(revocations, revocation), note=ActivityNote("session.revoked", revocation.jti))


MAX_REMEMBERED = 10_000

Token = tuple[TenantId, str]


@dataclass(slots=True)
class RevocationCheck:
    """Refuses revoked tokens. It remembers for `remember_seconds` that a token is not revoked, but never that it is."""

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
