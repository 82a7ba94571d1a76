"""`Revocation`: an item that revokes tokens, with its keys and its repository. `RevocationCheck`: refuses revoked
tokens."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from keyfence.auth.claims import CLOCK_SKEW_SECONDS, MAX_CLAIM_LENGTH, MAX_TOKEN_LIFETIME_SECONDS
from keyfence.auth.principal import Principal
from keyfence.errors import BadInput, Unauthenticated
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, Write, put
from keyfence_iam.tenant import TenantId


class RevocationScope(StrEnum):
    """Which tokens a revocation revokes: the token with one `jti`, all tokens with one `sid` (the tokens of a login),
    or all tokens with one `sub`."""

    JTI = "JTI"
    SID = "SID"
    SUB = "SUB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """Revokes tokens before they expire. After `ttl`, in seconds since 1970, the tokens themselves have expired."""

    scope: RevocationScope
    id: str
    """The `jti`, the `sid` or the `sub` of the tokens."""
    actor: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    issued_until: int | None = None
    """Tokens whose `iat` is at most this time, in seconds since 1970, are revoked. None means any `iat`."""
    version: int = 1

    def revokes(self, issued_at: int, now: datetime) -> bool:
        """Returns whether this revocation revokes a token whose `iat` is `issued_at`.

        Compares the time with `ttl`, because DynamoDB may delete the item days after its `ttl`."""
        return now.timestamp() < self.ttl and (self.issued_until is None or issued_at <= self.issued_until)


def new_revocation(scope: RevocationScope, id: str, actor: str, now: datetime) -> Revocation:
    """Returns a revocation that lasts until every token that was issued before `now` has expired.

    The clocks of the issuer and of this server may each be wrong by CLOCK_SKEW_SECONDS."""
    expires_at = now + timedelta(seconds=MAX_TOKEN_LIFETIME_SECONDS + 2 * CLOCK_SKEW_SECONDS + 1)
    return Revocation(
        scope=scope,
        id=id,
        actor=actor,
        ttl=int(expires_at.timestamp()),
        created_at=now,
        updated_at=now,
        issued_until=int(now.timestamp()) if scope is RevocationScope.SUB else None,
    )


def checked_id(scope: RevocationScope, id: str) -> str:
    field = scope.lower()
    if not 0 < len(id) <= MAX_CLAIM_LENGTH or not id.isprintable():
        raise BadInput(f"{field} must be 1 to {MAX_CLAIM_LENGTH} printable characters", field=field)
    return id


def ids_by_scope(principal: Principal) -> dict[RevocationScope, str]:
    """Returns the ids by which the token of the principal can be revoked. A token may have no `jti` and no `sid`."""
    ids = {
        RevocationScope.JTI: principal.token_id,
        RevocationScope.SID: principal.session_id,
        RevocationScope.SUB: principal.subject,
    }
    return {scope: id for scope, id in ids.items() if id is not None}


revocations = entity(Revocation, table=TenantKey("REVOCATION#{scope}#{id}", "METADATA"))

revocations_of_token = revocations.get()


@dataclass(frozen=True, slots=True)
class RevocationRepository:
    """The revoked tokens of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def is_revoked(self, principal: Principal) -> bool:
        """Returns whether the token is revoked, by its `jti` or together with other tokens of its login or its subject.
        Makes one call."""
        keys = [{"scope": scope, "id": id} for scope, id in ids_by_scope(principal).items()]
        found = await self.table.find_many(revocations_of_token, keys)
        return any(
            revocation is not None and revocation.revokes(principal.issued_at, self.now()) for revocation in found
        )

    async def revoke(self, id: str, actor: str, scope: RevocationScope = RevocationScope.JTI) -> None:
        """Revokes the tokens with this id. Does not check that there are such tokens, because the service has no list
        of tokens."""
        revocation = new_revocation(scope, checked_id(scope, id), actor, self.now())
        await self.table.write(put(revocations, revocation), note=ActivityNote("session.revoked", revocation.id))

    def revoke_all_tokens_of(self, subject: str, actor: str) -> Write[Revocation]:
        """Returns the write that revokes every token of the subject that was issued until now, in whole seconds.

        It can replace an earlier revocation for the subject, because it revokes all tokens that the earlier one did."""
        return put(revocations, new_revocation(RevocationScope.SUB, subject, actor, self.now()))


MAX_REMEMBERED_TOKENS = 10_000
"""How many valid tokens are remembered. The oldest is forgotten first, and its next request reads the table again."""

Token = tuple[TenantId, str | None, str | None, str, int]
"""A tenant, and the `jti`, `sid`, `sub` and `iat` of a token. Two issuers of a tenant may use the same `jti`. Tokens
with equal values are revoked together, so they share an entry."""


@dataclass(slots=True)
class RevocationCheck:
    """Refuses revoked tokens. Remembers for `remember_seconds` that a token is valid, but never that it is revoked.

    Requests that write do not use the memory. So a revoked token can read for `remember_seconds` at most, and it can no
    longer write."""

    remember_seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    _valid_until: dict[Token, float] = field(default_factory=dict)

    async def check(
        self, principal: Principal, make_repository: Callable[[], RevocationRepository], *, may_write: bool
    ) -> None:
        """Raises Unauthenticated if the token is revoked. Calls `make_repository` only if the table has to be read."""
        now = self.clock()
        ids = (principal.token_id, principal.session_id, principal.subject)
        token = (principal.tenant, *ids, principal.issued_at)
        if not may_write and now < self._valid_until.get(token, now):
            return
        self._valid_until.pop(token, None)
        if await make_repository().is_revoked(principal):
            raise Unauthenticated("the token has been revoked")
        self._remember(token, now + self.remember_seconds)

    def _remember(self, token: Token, until: float) -> None:
        if not self.remember_seconds:
            return
        if len(self._valid_until) >= MAX_REMEMBERED_TOKENS:
            self._valid_until.pop(next(iter(self._valid_until)))
        self._valid_until[token] = until
