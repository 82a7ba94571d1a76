"""`TokenVerifier` with its cache of verified tokens."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

from keyfence.auth.issuer import Issuer, IssuerLookup, issuer_from_settings, issuers_by_url
from keyfence.auth.jwks import VerificationKey
from keyfence.auth.principal import Operator, Principal
from keyfence.auth.token import (
    CLOCK_SKEW,
    MAX_TOKEN_LENGTH,
    NOT_A_JWT,
    Claims,
    UnverifiedToken,
    operator_from,
    parse_token,
    principal_from,
    read_claims,
)
from keyfence.errors import Unauthenticated
from keyfence.settings import Settings

Caller = TypeVar("Caller")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedToken(Generic[Caller]):
    """A caller, and all that must still hold for the token to be as good as when it was checked."""

    caller: Caller
    key: VerificationKey
    issuer: Issuer
    checked_at: float
    valid_until: float

    def is_current(self, now: float) -> bool:
        return self.checked_at <= now < self.valid_until

    def has_current_key(self) -> bool:
        """Whether its issuer still has the key, as far as is known."""
        return self.issuer.keys.contains(self.key)


class TokenCache(Generic[Caller]):
    """The least recently used goes first, so that memory is bounded."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._verified: OrderedDict[bytes, VerifiedToken[Caller]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._verified)

    def find(self, digest: bytes, now: float) -> VerifiedToken[Caller] | None:
        verified = self._verified.get(digest)
        if verified is None:
            return None
        if not verified.is_current(now):
            del self._verified[digest]
            return None
        self._verified.move_to_end(digest)
        return verified

    def drop(self, digest: bytes) -> None:
        self._verified.pop(digest, None)

    def put(self, digest: bytes, verified: VerifiedToken[Caller]) -> None:
        self._verified[digest] = verified
        self._verified.move_to_end(digest)
        if len(self._verified) > self._size:
            self._verified.popitem(last=False)


RECHECK_SECONDS = 300
CACHED_TOKENS = 8192

Clock = Callable[[], float]


class TokenVerifier(Generic[Caller]):
    """Accepts the tokens of its issuers for one audience; `others` is asked for issuers that are not among them.

    Every refusal is Unauthenticated, in words that say what to mend and nothing about keys. When the issuer's keys
    cannot be read and so nobody can judge the token, Throttled is raised instead (see FetchedKeys).
    """

    def __init__(
        self,
        *,
        issuers: Iterable[Issuer],
        audience: str,
        make_caller: Callable[[Claims, Issuer], Caller],
        clock: Clock = time.time,
        cached_tokens: int = CACHED_TOKENS,
        tenant_issuers: IssuerLookup | None = None,
    ) -> None:
        self._issuers, self._others = issuers_by_url(issuers), tenant_issuers
        self._audience, self._admit, self._clock = audience, make_caller, clock
        self._cache = TokenCache[Caller](cached_tokens)

    async def verify(self, token: str) -> Caller:
        digest = _digest(token)
        verified = self._cache.find(digest, self._clock())
        if verified is not None and (verified.has_current_key() or await self._is_proven_anew(verified)):
            return verified.caller
        self._cache.drop(digest)
        return await self._verify_anew(token, digest)

    async def _is_proven_anew(self, verified: VerifiedToken[Caller]) -> bool:
        """What is known of the issuer may merely be old; if its key is still there, the signature is not read again."""
        await self._find_issuer(verified.issuer.url)
        return verified.has_current_key()

    async def _verify_anew(self, token: str, digest: bytes) -> Caller:
        compact = parse_token(token)
        issuer = await self._issuer(compact)
        key = await _proving_key(compact, issuer)
        now = self._clock()
        claims = read_claims(compact.claims, audience=self._audience, now=now)
        caller = self._admit(claims, issuer)
        good_until = min(claims.expires_at + CLOCK_SKEW, now + RECHECK_SECONDS)
        self._cache.put(
            digest, VerifiedToken(caller=caller, key=key, issuer=issuer, checked_at=now, valid_until=good_until)
        )
        return caller

    async def _issuer(self, compact: UnverifiedToken) -> Issuer:
        name = compact.claims.get("iss")
        issuer = await self._find_issuer(name) if isinstance(name, str) else None
        if issuer is None:
            raise Unauthenticated("the token's issuer is not accepted")
        return issuer

    async def _find_issuer(self, url: str) -> Issuer | None:
        issuer = self._issuers.get(url)
        return issuer if issuer is not None or self._others is None else await self._others.find(url)


def tenant_verifier(
    settings: Settings, *, tenant_issuers: IssuerLookup | None = None, clock: Clock = time.time
) -> TokenVerifier[Principal]:
    """The issuers of the settings come first; those that tenants own are found in `owned`."""
    return TokenVerifier(
        issuers=map(issuer_from_settings, settings.issuers),
        audience=settings.audience,
        make_caller=principal_from,
        clock=clock,
        tenant_issuers=tenant_issuers,
    )


def operator_verifier(settings: Settings, *, clock: Clock = time.time) -> TokenVerifier[Operator]:
    if settings.admin_audience == settings.audience:
        raise ValueError("operators and tenants need different audiences")
    if any(issuer.tenant is not None for issuer in settings.admin_issuers):
        raise ValueError("an operators' issuer has no tenant")
    return TokenVerifier(
        issuers=map(issuer_from_settings, settings.admin_issuers),
        audience=settings.admin_audience,
        make_caller=operator_from,
        clock=clock,
    )


def _digest(token: str) -> bytes:
    if len(token) > MAX_TOKEN_LENGTH or not token.isascii():
        raise Unauthenticated(NOT_A_JWT)
    return sha256(token.encode()).digest()


async def _proving_key(compact: UnverifiedToken, issuer: Issuer) -> VerificationKey:
    key = await issuer.keys.find(compact.kid)
    if key is None:
        raise Unauthenticated("the token's signing key is not one of its issuer's")
    if not key.verifies(compact.content, algorithm=compact.algorithm, signature=compact.signature):
        raise Unauthenticated("the token's signature does not hold")
    return key
