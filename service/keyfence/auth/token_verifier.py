"""`TokenVerifier`: verifies a token and returns its caller. `TokenCache`: the tokens that were verified recently."""

import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

import structlog

from keyfence.auth.bearer_token import MAX_TOKEN_LENGTH, NOT_A_JWT_MESSAGE, UnverifiedToken, parse_token
from keyfence.auth.claim_mapping import ClaimMapping, ClaimUse
from keyfence.auth.claims import (
    CLOCK_SKEW_SECONDS,
    RawClaims,
    operator_from_claims,
    principal_from_claims,
    require_audience,
    require_valid_times,
)
from keyfence.auth.issuer import Issuer, IssuerLookup, issuer_from_settings, issuers_by_url
from keyfence.auth.key_set import VerificationKey
from keyfence.auth.principal import Operator, Principal
from keyfence.errors import Unauthenticated
from keyfence.settings import IssuerSettings, Settings

log = structlog.get_logger(__name__)

NOT_SIGNED_MESSAGE = "the token is not signed by an issuer that is accepted"
"""One message for an unknown issuer, an unknown key and a wrong signature, so that nobody can find out with forged
tokens which issuers tenants have registered. The log says which of the three it was."""

RECHECK_SECONDS = 300
"""How long the result of a verification is used. Then the token is verified again."""

MAX_CACHED_TOKENS = 8192

Caller = TypeVar("Caller")
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedToken(Generic[Caller]):
    """The caller of a token that was verified, and what the cache must check before it returns the caller again."""

    caller: Caller
    key: VerificationKey
    issuer: Issuer
    checked_at: float
    valid_until: float

    def is_current(self, now: float) -> bool:
        """Whether the result may still be used. If the clock was set back, the token is verified again."""
        return self.checked_at <= now < self.valid_until

    def has_current_key(self) -> bool:
        """Whether the issuer still uses the key. The answer comes from memory, without a fetch."""
        return self.issuer.keys.contains(self.key)


class TokenCache(Generic[Caller]):
    """Verified tokens by the digest of their text. A full cache removes the token that was used longest ago."""

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
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
        if len(self._verified) > self._max_tokens:
            self._verified.popitem(last=False)


class TokenVerifier(Generic[Caller]):
    """Verifies tokens for one API. The issuers of the settings are in `issuers`. All other issuers are looked up in
    `tenant_issuers`. `audience` is for issuers that have no audiences of their own. `refused_audiences` belong to the
    other API, so that no token is valid for both APIs."""

    def __init__(
        self,
        *,
        issuers: Iterable[Issuer],
        audience: str,
        caller_from_claims: Callable[[RawClaims, ClaimMapping], Caller],
        refused_audiences: Container[str] = (),
        clock: Clock = time.time,
        max_cached_tokens: int = MAX_CACHED_TOKENS,
        tenant_issuers: IssuerLookup | None = None,
    ) -> None:
        self._issuers, self._tenant_issuers = issuers_by_url(issuers), tenant_issuers
        self._audience, self._refused_audiences = audience, refused_audiences
        self._caller_from_claims, self._clock = caller_from_claims, clock
        self._cache = TokenCache[Caller](max_cached_tokens)

    async def verify(self, token: str) -> Caller:
        """Returns the caller of a token. The signature of a cached token is not verified again.

        Raises Unauthenticated if the token is refused. The message says what to correct, but nothing about issuers and
        keys. Raises Throttled if the keys of the issuer cannot be fetched (see `FetchedKeys`), or if the budget for
        lookups of issuers is used up (see `TenantIssuerCache`)."""
        digest = _digest(token)
        verified = self._cache.find(digest, self._clock())
        if verified is not None and (verified.has_current_key() or await self._has_key_after_refresh(verified)):
            return verified.caller
        self._cache.drop(digest)
        return await self._verify_uncached(token, digest)

    async def _has_key_after_refresh(self, verified: VerifiedToken[Caller]) -> bool:
        """Looks up the issuer again, and returns whether the issuer still uses the key. An issuer that has only expired
        in the cache does not make the token invalid."""
        await self._find_issuer(verified.issuer.url)
        return verified.has_current_key()

    async def _verify_uncached(self, token: str, digest: bytes) -> Caller:
        unverified_token = parse_token(token)
        issuer = await self._get_issuer(unverified_token)
        key = await _verify_signature(unverified_token, issuer)
        now, claims = self._clock(), unverified_token.claims
        require_audience(claims, issuer.mapping, self._audience, self._refused_audiences)
        expires_at = require_valid_times(claims, now)
        caller = self._caller_from_claims(claims, issuer.mapping)
        valid_until = min(expires_at + CLOCK_SKEW_SECONDS, now + RECHECK_SECONDS)
        self._cache.put(
            digest, VerifiedToken(caller=caller, key=key, issuer=issuer, checked_at=now, valid_until=valid_until)
        )
        return caller

    async def _get_issuer(self, unverified_token: UnverifiedToken) -> Issuer:
        url = unverified_token.claims.get("iss")
        issuer = await self._find_issuer(url) if isinstance(url, str) else None
        if issuer is None:
            raise _not_signed(unverified_token, "the issuer is unknown")
        return issuer

    async def _find_issuer(self, url: str) -> Issuer | None:
        """Searches the settings first, so that a tenant cannot replace an issuer of the settings."""
        issuer = self._issuers.get(url)
        if issuer is not None or self._tenant_issuers is None:
            return issuer
        return await self._tenant_issuers.find(url)


def tenant_verifier(
    settings: Settings, *, tenant_issuers: IssuerLookup | None = None, clock: Clock = time.time
) -> TokenVerifier[Principal]:
    """Returns the verifier for the tokens of users, which the tenants' API accepts."""
    return TokenVerifier(
        issuers=_issuers(settings.issuers, settings),
        audience=settings.audience,
        refused_audiences=settings.operator_audiences,
        caller_from_claims=principal_from_claims,
        clock=clock,
        tenant_issuers=tenant_issuers,
    )


def operator_verifier(settings: Settings, *, clock: Clock = time.time) -> TokenVerifier[Operator]:
    """Returns the verifier for the tokens of operators, which the operators' API accepts.

    Raises ValueError if a token could be valid for operators and for a tenant."""
    if not settings.operator_audiences.isdisjoint(settings.tenant_audiences):
        raise ValueError("operators and tenants must have different audiences")
    issuers = tuple(_issuers(settings.admin_issuers, settings))
    if any(_names_tenant_or_role(issuer.mapping) for issuer in issuers):
        raise ValueError("an issuer of operators must not have a tenant or a role")
    return TokenVerifier(
        issuers=issuers,
        audience=settings.admin_audience,
        refused_audiences=settings.tenant_audiences,
        caller_from_claims=operator_from_claims,
        clock=clock,
    )


def _issuers(issuers: Iterable[IssuerSettings], settings: Settings) -> Iterator[Issuer]:
    allowed = settings.allow_development_keys
    return (issuer_from_settings(issuer, allow_development_keys=allowed) for issuer in issuers)


def _names_tenant_or_role(mapping: ClaimMapping) -> bool:
    mapped_claims = {ClaimUse.TENANT, ClaimUse.ROLE} & mapping.claims.keys()
    has_roles = mapping.roles != ClaimMapping().roles or mapping.default_role is not None
    return bool(mapped_claims) or mapping.tenant is not None or bool(mapping.tenants) or has_roles


def _digest(token: str) -> bytes:
    """Returns the key of the token in the cache. Raises Unauthenticated if the token is not ASCII, or is too long: the
    digest of a long text takes time."""
    if len(token) > MAX_TOKEN_LENGTH or not token.isascii():
        raise Unauthenticated(NOT_A_JWT_MESSAGE)
    return sha256(token.encode()).digest()


async def _verify_signature(unverified_token: UnverifiedToken, issuer: Issuer) -> VerificationKey:
    """Returns the key that the token is signed with. Raises Unauthenticated if the signature is not valid."""
    key = await issuer.keys.find(unverified_token.kid)
    if key is None:
        raise _not_signed(unverified_token, "the issuer has no key with this kid")
    if not key.verifies(
        unverified_token.signed_content, algorithm=unverified_token.algorithm, signature=unverified_token.signature
    ):
        raise _not_signed(unverified_token, "the signature does not match")
    return key


def _not_signed(unverified_token: UnverifiedToken, reason: str) -> Unauthenticated:
    log.info("token_refused", reason=reason, issuer=unverified_token.claims.get("iss"), kid=unverified_token.kid)
    return Unauthenticated(NOT_SIGNED_MESSAGE)
