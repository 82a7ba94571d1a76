"""`TenantIssuers`: issuers that tenants register themselves, cached for seconds, with their key sets."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeVar

import orjson

from keyfence.auth.issuer import Issuer, is_issuer_url
from keyfence.auth.jwk_parser import parse_jwks_leniently
from keyfence.auth.key_set import FixedKeys, KeySet, keep_unchanged
from keyfence.auth.signature_algorithms import VerificationKey
from keyfence.errors import Throttled
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket

MAX_AGE = 5.0
ABSENT_SECONDS = 1.0
"""How long the cache remembers that an issuer does not exist."""
EARLY_LOOKUP_INTERVAL = 1.0
"""The shortest time between two early lookups of one issuer. A lookup is early if an unknown kid is the reason."""
MAX_CACHED_ISSUERS = 10_000

V = TypeVar("V")


class IssuerRecord(Protocol):
    """A tenant's issuer as it is stored. Either `jwks` (JSON text) or `jwks_uri` is set."""

    @property
    def issuer(self) -> str: ...
    @property
    def tenant(self) -> TenantId: ...
    @property
    def jwks(self) -> str | None: ...
    @property
    def jwks_uri(self) -> str | None: ...


def keys_digest(record: IssuerRecord) -> bytes:
    """Returns a digest that changes if the keys or their URI change."""
    return sha256(repr((record.jwks, record.jwks_uri)).encode()).digest()


@dataclass(slots=True, eq=False, kw_only=True)
class TenantKeySet:
    """The keys of a tenant's issuer. They are valid for `max_age` seconds after the last lookup of its record.

    For an unknown kid the record is looked up again before the token is refused: the key may be a new one."""

    keys: KeySet
    max_age: float
    clock: Callable[[], float]
    refresh: Callable[["TenantKeySet"], Awaitable[None]]
    looked_up_at: float = -math.inf

    async def find(self, kid: str) -> VerificationKey | None:
        if (key := await self.keys.find(kid)) is not None:
            return key
        await self.refresh(self)
        return await self.keys.find(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self.is_fresh() and self.keys.contains(key)

    def is_fresh(self) -> bool:
        return self.clock() - self.looked_up_at < self.max_age

    def revoke(self) -> None:
        """Removes all keys: the issuer was deleted, or belongs to another tenant now."""
        self.keys = FixedKeys({})


@dataclass(slots=True, eq=False, kw_only=True)
class _CachedIssuer:
    issuer: Issuer
    keys: TenantKeySet
    digest: bytes
    early_lookup_at: float = -math.inf


@dataclass(slots=True, eq=False)
class _Lookup:
    started_at: float
    task: "asyncio.Task[Issuer | None]"


class TenantIssuers:
    """Finds tenants' issuers by their URL, as they were at most `max_age` seconds ago. Older ones are not used, even if
    they cannot be looked up again.

    Each URL has one lookup at a time, and all requests wait for it. Lookups of unknown issuers and early lookups share
    a budget: a client that sends invented issuers or kids gets Throttled, and does not slow down others."""

    def __init__(
        self,
        look_up: Callable[[str], Awaitable[IssuerRecord | None]],
        fetched_keys: Callable[[str, str], KeySet],
        budget: TokenBucket,
        *,
        max_age: float = MAX_AGE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        max_cached: int = MAX_CACHED_ISSUERS,
    ) -> None:
        """`look_up` reads the record of a URL. `fetched_keys` makes the key set of a jwks_uri and an issuer's URL."""
        self._look_up, self._fetched_keys, self._budget = look_up, fetched_keys, budget
        self._max_age, self._clock, self._sleep, self._max_cached = max_age, clock, sleep, max_cached
        self._cached: dict[str, _CachedIssuer] = {}
        self._absent: dict[str, float] = {}
        self._lookups: dict[str, _Lookup] = {}

    async def find(self, url: str) -> Issuer | None:
        """Returns the issuer, or None if no tenant has registered it. Raises Throttled if the budget is used up."""
        cached, now = self._cached.get(url), self._clock()
        if cached is not None:
            return cached.issuer if cached.keys.is_fresh() else await self._looked_up(url, now - self._max_age)
        if not is_issuer_url(url) or now - self._absent.get(url, -math.inf) < ABSENT_SECONDS:
            return None
        return await self._looked_up(url, now - ABSENT_SECONDS)

    def invalidate(self, url: str) -> None:
        """Makes everything known about an issuer too old, lookups in progress included. For changes in this process."""
        self._absent.pop(url, None)
        if cached := self._cached.get(url):
            cached.keys.looked_up_at = -math.inf
        if lookup := self._lookups.pop(url, None):
            lookup.started_at = -math.inf

    async def _looked_up(self, url: str, not_before: float, *, early: bool = False) -> Issuer | None:
        """Returns the result of a lookup that started at this time or later. A canceled request does not cancel the
        lookup, because others may wait for it."""
        while True:
            lookup = self._lookups.get(url) or self._start_lookup(url, early=early)
            issuer = await asyncio.shield(lookup.task)
            if lookup.started_at >= not_before:
                return issuer

    async def _look_up_early(self, url: str, keys: TenantKeySet) -> None:
        """Looks up an issuer because of an unknown kid. Requests that come too soon after the last early lookup wait,
        and share the next one."""
        cached, now = self._cached.get(url), self._clock()
        if cached is None or cached.keys is not keys:
            return
        if (pause := cached.early_lookup_at + EARLY_LOOKUP_INTERVAL - now) > 0:
            await self._sleep(pause)
        if keys.looked_up_at <= now:
            await self._looked_up(url, now, early=True)

    def _start_lookup(self, url: str, *, early: bool) -> _Lookup:
        now, cached = self._clock(), self._cached.get(url)
        if (early or cached is None) and not self._budget.try_take(1.0, now, use_reserve=early):
            wait = math.ceil(self._budget.seconds_until(1.0, now, use_reserve=early) * 1000)
            raise Throttled("too many unknown issuers and keys are being looked up; retry", retryAfterMs=wait)
        if early and cached is not None:
            cached.early_lookup_at = now
        lookup = self._lookups[url] = _Lookup(now, asyncio.create_task(self._run_lookup(url)))
        lookup.task.add_done_callback(_retrieve_exception)
        return lookup

    async def _run_lookup(self, url: str) -> Issuer | None:
        lookup = self._lookups[url]
        try:
            return self._store(url, await self._look_up(url), lookup)
        finally:
            if self._lookups.get(url) is lookup:
                del self._lookups[url]

    def _store(self, url: str, record: IssuerRecord | None, lookup: _Lookup) -> Issuer | None:
        """Caches the result of a lookup. A result that is older than the cached one is ignored."""
        cached = self._cached.get(url)
        if cached is not None and lookup.started_at < cached.keys.looked_up_at:
            return cached.issuer
        self._cached.pop(url, None)
        if cached is not None and (record is None or record.tenant != cached.issuer.tenant):
            cached.keys.revoke()
            cached = None
        if record is None:
            _put_bounded(self._absent, url, lookup.started_at, self._max_cached)
            return None
        self._absent.pop(url, None)
        current = self._with_keys_of(record, cached) if cached else self._new(record)
        current.keys.looked_up_at = lookup.started_at
        _put_bounded(self._cached, url, current, self._max_cached)
        return current.issuer

    def _new(self, record: IssuerRecord) -> _CachedIssuer:
        keys = TenantKeySet(
            keys=self._keys(record, FixedKeys({})),
            max_age=self._max_age,
            clock=self._clock,
            refresh=lambda keys: self._look_up_early(record.issuer, keys),
        )
        issuer = Issuer(url=record.issuer, keys=keys, tenant=record.tenant)
        return _CachedIssuer(issuer=issuer, keys=keys, digest=keys_digest(record))

    def _with_keys_of(self, record: IssuerRecord, cached: _CachedIssuer) -> _CachedIssuer:
        if (digest := keys_digest(record)) != cached.digest:
            cached.digest, cached.keys.keys = digest, self._keys(record, cached.keys.keys)
        return cached

    def _keys(self, record: IssuerRecord, before: KeySet) -> KeySet:
        if record.jwks is None:
            return self._fetched_keys(record.jwks_uri or "", record.issuer)
        keys = parse_jwks_leniently(orjson.loads(record.jwks))
        return FixedKeys(keep_unchanged(before.keys, keys) if isinstance(before, FixedKeys) else keys)


def _put_bounded(cache: dict[str, V], url: str, value: V, max_size: int) -> None:
    """Adds an entry. If the cache is full, the entry that was added first is removed."""
    cache.pop(url, None)
    if len(cache) >= max_size:
        del cache[next(iter(cache))]
    cache[url] = value


def _retrieve_exception(task: "asyncio.Task[Issuer | None]") -> None:
    """Prevents asyncio's warning about an exception that was never retrieved, if all waiting requests were canceled."""
    if not task.cancelled():
        task.exception()
