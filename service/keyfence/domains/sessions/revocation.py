"""`Revocation`, keys, repository, `RevocationCheck` of every request."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from keyfence.auth.token import CLOCK_SKEW, MAX_CLAIM_LENGTH, MAX_TOKEN_LIFETIME
from keyfence.errors import BadInput, Unauthenticated
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, put
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """A token that is no longer good; `ttl` is when no token with its id can be good any more, in epoch seconds."""

    jti: str
    by: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1

    def holds(self, now: datetime) -> bool:
        """DynamoDB may take days to remove what has ended."""
        return now.timestamp() < self.ttl


def new_revocation(jti: str, by: str, now: datetime) -> Revocation:
    """Kept longer than any token lives that was issued until now, by clocks that differ as much as they may."""
    last = now + timedelta(seconds=MAX_TOKEN_LIFETIME + 2 * CLOCK_SKEW + 1)
    return Revocation(jti=checked_jti(jti), by=by, ttl=int(last.timestamp()), created_at=now, updated_at=now)


def checked_jti(jti: str) -> str:
    if not 0 < len(jti) <= MAX_CLAIM_LENGTH or not jti.isprintable():
        raise BadInput(f"jti must be 1 to {MAX_CLAIM_LENGTH} printable characters", field="jti")
    return jti


revocations = entity(Revocation, table=TenantKey("SESSION#{jti}", "METADATA"))

revocation_of_session = revocations.get()


@dataclass(frozen=True, slots=True)
class RevocationRepository:
    """What can be asked and done about sessions."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def is_revoked(self, jti: str) -> bool:
        found = await self.table.find(revocation_of_session, jti=jti)
        return found is not None and found.holds(self.now())

    async def revoke(self, jti: str, by: str) -> None:
        """Whether or not there is such a token: nobody has a list of them."""
        revocation = new_revocation(jti, by, self.now())
        await self.table.write(put(revocations, revocation), note=ActivityNote("session.revoked", revocation.jti))


REMEMBERED = 10_000

Token = tuple[TenantId, str]


@dataclass(slots=True)
class RevocationCheck:
    """Refuses revoked tokens; that one is good may be believed for `seconds`, that it is not never."""

    seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    _good: dict[Token, float] = field(default_factory=dict)

    async def check(self, tenant: TenantId, jti: str, sessions: Callable[[], RevocationRepository]) -> None:
        """`sessions` are the tenant's, wanted only if somebody has to be asked."""
        now, token = self.clock(), (tenant, jti)
        if now < self._good.get(token, now):
            return
        self._good.pop(token, None)
        if await sessions().is_revoked(jti):
            raise Unauthenticated("the token has been revoked")
        self._remember(token, now + self.seconds)

    def _remember(self, token: Token, until: float) -> None:
        if not self.seconds:
            return
        if len(self._good) >= REMEMBERED:
            self._good.pop(next(iter(self._good)))
        self._good[token] = until
