"""Verification of bearer tokens: a JWT in, the caller out."""

import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Generic

from keyfence.auth.admission import admit_operator, admit_principal
from keyfence.auth.claims import LEEWAY, Claims, read_claims
from keyfence.auth.compact import MAX_TOKEN, NOT_A_JWT, CompactToken, read_compact
from keyfence.auth.issuer import Issuer, Issuers, issuer_of, issuers_by_url
from keyfence.auth.principal import Operator, Principal
from keyfence.auth.signing_key import SigningKey
from keyfence.auth.token_cache import Caller, TokenCache, Verified
from keyfence.errors import Unauthenticated
from keyfence.settings import Settings

RECHECK_SECONDS = 300
CACHED_TOKENS = 8192

Clock = Callable[[], float]


class Verifier(Generic[Caller]):
    """Accepts the tokens of its issuers for one audience; `others` is asked for issuers that are not among them.

    Every refusal is Unauthenticated, in words that say what to mend and nothing about keys. When the issuer's keys
    cannot be read and so nobody can judge the token, Throttled is raised instead (see FetchedKeys).
    """

    def __init__(
        self,
        *,
        issuers: Iterable[Issuer],
        audience: str,
        admit: Callable[[Claims, Issuer], Caller],
        clock: Clock = time.time,
        cached_tokens: int = CACHED_TOKENS,
        others: Issuers | None = None,
    ) -> None:
        self._issuers, self._others = issuers_by_url(issuers), others
        self._audience, self._admit, self._clock = audience, admit, clock
        self._cache = TokenCache[Caller](cached_tokens)

    async def verify(self, token: str) -> Caller:
        digest = _digest(token)
        verified = self._cache.find(digest, self._clock())
        if verified is not None and (verified.is_proven() or await self._is_proven_anew(verified)):
            return verified.caller
        self._cache.drop(digest)
        return await self._verify_anew(token, digest)

    async def _is_proven_anew(self, verified: Verified[Caller]) -> bool:
        """What is known of the issuer may merely be old; if its key is still there, the signature is not read again."""
        await self._find_issuer(verified.issuer.url)
        return verified.is_proven()

    async def _verify_anew(self, token: str, digest: bytes) -> Caller:
        compact = read_compact(token)
        issuer = await self._issuer(compact)
        key = await _proving_key(compact, issuer)
        now = self._clock()
        claims = read_claims(compact.claims, audience=self._audience, now=now)
        caller = self._admit(claims, issuer)
        good_until = min(claims.expires_at + LEEWAY, now + RECHECK_SECONDS)
        self._cache.put(digest, Verified(caller=caller, key=key, issuer=issuer, checked_at=now, good_until=good_until))
        return caller

    async def _issuer(self, compact: CompactToken) -> Issuer:
        name = compact.claims.get("iss")
        issuer = await self._find_issuer(name) if isinstance(name, str) else None
        if issuer is None:
            raise Unauthenticated("the token's issuer is not accepted")
        return issuer

    async def _find_issuer(self, url: str) -> Issuer | None:
        issuer = self._issuers.get(url)
        return issuer if issuer is not None or self._others is None else await self._others.find(url)


def tenant_verifier(
    settings: Settings, *, owned: Issuers | None = None, clock: Clock = time.time
) -> Verifier[Principal]:
    """The issuers of the settings come first; those that tenants own are found in `owned`."""
    return Verifier(
        issuers=map(issuer_of, settings.issuers),
        audience=settings.audience,
        admit=admit_principal,
        clock=clock,
        others=owned,
    )


def operator_verifier(settings: Settings, *, clock: Clock = time.time) -> Verifier[Operator]:
    if settings.admin_audience == settings.audience:
        raise ValueError("operators and tenants need different audiences")
    if any(issuer.tenant is not None for issuer in settings.admin_issuers):
        raise ValueError("an operators' issuer has no tenant")
    return Verifier(
        issuers=map(issuer_of, settings.admin_issuers),
        audience=settings.admin_audience,
        admit=admit_operator,
        clock=clock,
    )


def _digest(token: str) -> bytes:
    if len(token) > MAX_TOKEN or not token.isascii():
        raise Unauthenticated(NOT_A_JWT)
    return sha256(token.encode()).digest()


async def _proving_key(compact: CompactToken, issuer: Issuer) -> SigningKey:
    key = await issuer.keys.find(compact.kid)
    if key is None:
        raise Unauthenticated("the token's signing key is not one of its issuer's")
    if not key.signed(compact.content, algorithm=compact.algorithm, signature=compact.signature):
        raise Unauthenticated("the token's signature does not hold")
    return key
