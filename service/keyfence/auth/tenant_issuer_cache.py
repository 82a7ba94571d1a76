"""`TenantIssuerCache`: the issuers that tenants have registered, with their key sets, cached for a few seconds."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeVar

import orjson

from keyfence.auth.claim_mapping import ClaimMapping, parse_claim_mapping
from keyfence.auth.issuer import Issuer, is_issuer_url
from keyfence.auth.jwk_parser import parse_jwks_leniently
from keyfence.auth.key_set import FixedKeys, KeySet, VerificationKey, reuse_unchanged_keys
from keyfence.errors import Throttled
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket

MAX_AGE_SECONDS = 5.0
"""How long a cached issuer is used. A change of an issuer takes effect everywhere after this time."""

NEGATIVE_CACHE_SECONDS = 1.0
"""How long the cache remembers that no tenant has registered an issuer."""

EARLY_LOOKUP_INTERVAL_SECONDS = 1.0
"""The shortest time between two early lookups of one issuer. A lookup is early if a token has an unknown kid while the
cached issuer is still fresh."""

MAX_CACHED_ISSUERS = 10_000

Value = TypeVar("Value")


class IssuerRecord(Protocol):
    """A tenant's issuer as it is stored: its keys as `jwks` (JSON text) or `jwks_uri`, and its claim mapping (JSON
    text, None without a mapping)."""

    @property
    def issuer(self) -> str: ...
    @property
    def tenant(self) -> TenantId: ...
    @property
    def jwks(self) -> str | None: ...
    @property
    def jwks_uri(self) -> str | None: ...
    @property
    def mapping(self) -> str | None: ...


def keys_digest(record: IssuerRecord) -> bytes:
    """Returns a digest that changes when the keys or the URI of a record change."""
    return sha256(repr((record.jwks, record.jwks_uri)).encode()).digest()


@dataclass(slots=True, eq=False, kw_only=True)
class TenantKeySet:
    """The keys of a tenant's issuer. They are valid for `max_age_seconds` after the last lookup of the issuer's record.

    If a kid is unknown, the record is looked up again before the token is refused: the tenant may have added a key."""

    keys: KeySet
    max_age_seconds: float
    clock: Callable[[], float]
    refresh: Callable[["TenantKeySet"], Awaitable[None]]
    """Looks up the record again, and replaces `keys` if the record has changed."""
    looked_up_at: float = -math.inf

    async def find(self, kid: str) -> VerificationKey | None:
        if (key := await self.keys.find(kid)) is not None:
            return key
        await self.refresh(self)
        return await self.keys.find(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self.is_fresh() and self.keys.contains(key)

    def is_fresh(self) -> bool:
        return self.clock() - self.looked_up_at < self.max_age_seconds

    def revoke(self) -> None:
        """Removes all keys, so that cached tokens of this issuer are refused too."""
        self.keys = FixedKeys({})


@dataclass(slots=True, eq=False, kw_only=True)
class _CachedIssuer:
    issuer: Issuer
    key_set: TenantKeySet
    keys_digest: bytes
    early_lookup_at: float = -math.inf
    """When the last early lookup of this issuer started."""


@dataclass(slots=True, eq=False)
class _Lookup:
    started_at: float
    task: "asyncio.Task[Issuer | None]"


class TenantIssuerCache:
    """Finds the issuers of tenants by their URL. An issuer that was looked up more than `max_age_seconds` ago is looked
    up again. If that fails, the request fails: an outdated issuer is not used.

    Only one lookup of a URL runs at a time, and all requests with this URL wait for it. Lookups of unknown issuers and
    early lookups share a budget. A client that invents issuers or kids uses up the budget and gets Throttled. Tokens of
    issuers in the cache do not need the budget."""

    def __init__(
        self,
        find_record: Callable[[str], Awaitable[IssuerRecord | None]],
        new_fetched_keys: Callable[[str | None, str], KeySet],
        budget: TokenBucket,
        *,
        max_age_seconds: float = MAX_AGE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        max_cached: int = MAX_CACHED_ISSUERS,
    ) -> None:
        """`find_record` reads the stored issuer of a URL. `new_fetched_keys` returns the key set of a jwks_uri or, if
        that is None, the key set that the issuer's metadata name; its second argument is the URL of the issuer."""
        self._find_record, self._new_fetched_keys, self._budget = find_record, new_fetched_keys, budget
        self._max_age_seconds, self._clock, self._sleep, self._max_cached = max_age_seconds, clock, sleep, max_cached
        self._cached: dict[str, _CachedIssuer] = {}
        self._absence_seen_at: dict[str, float] = {}
        self._lookups: dict[str, _Lookup] = {}

    async def find(self, url: str) -> Issuer | None:
        """Returns the issuer with this URL, or None if no tenant has registered the URL.

        Raises Throttled if the budget for lookups is used up."""
        cached, now = self._cached.get(url), self._clock()
        if cached is not None:
            if cached.key_set.is_fresh():
                return cached.issuer
            return await self._await_lookup(url, started_after=now - self._max_age_seconds)
        is_known_absent = now - self._absence_seen_at.get(url, -math.inf) < NEGATIVE_CACHE_SECONDS
        if is_known_absent or not is_issuer_url(url):
            return None
        return await self._await_lookup(url, started_after=now - NEGATIVE_CACHE_SECONDS)

    def invalidate(self, url: str) -> None:
        """Makes the next request look up the issuer again. Must be called after this process has changed the issuer.
        The result of a lookup that is running now counts as outdated too."""
        self._absence_seen_at.pop(url, None)
        if cached := self._cached.get(url):
            cached.key_set.looked_up_at = -math.inf
        if lookup := self._lookups.pop(url, None):
            lookup.started_at = -math.inf

    async def _await_lookup(self, url: str, *, started_after: float, is_early: bool = False) -> Issuer | None:
        """Returns the result of a lookup that started at `started_after` or later, and starts one if none is running.

        A cancelled request does not cancel the lookup, because other requests may wait for it."""
        while True:
            lookup = self._lookups.get(url) or self._start_lookup(url, is_early=is_early)
            issuer = await asyncio.shield(lookup.task)
            if lookup.started_at >= started_after:
                return issuer

    async def _look_up_early(self, url: str, key_set: TenantKeySet) -> None:
        """Looks up an issuer because of an unknown kid. A request that comes too soon after the last early lookup
        waits. All waiting requests share the next lookup."""
        cached, now = self._cached.get(url), self._clock()
        if cached is None or cached.key_set is not key_set:
            return
        wait_seconds = cached.early_lookup_at + EARLY_LOOKUP_INTERVAL_SECONDS - now
        if wait_seconds > 0:
            await self._sleep(wait_seconds)
        if key_set.looked_up_at <= now:
            await self._await_lookup(url, started_after=now, is_early=True)

    def _start_lookup(self, url: str, *, is_early: bool) -> _Lookup:
        now, cached = self._clock(), self._cached.get(url)
        needs_budget = is_early or cached is None
        if needs_budget and not self._budget.try_take(1.0, now, use_reserve=is_early):
            retry_ms = math.ceil(self._budget.seconds_until(1.0, now, use_reserve=is_early) * 1000)
            raise Throttled("too many unknown issuers and keys are being looked up; retry", retryAfterMs=retry_ms)
        if is_early and cached is not None:
            cached.early_lookup_at = now
        lookup = self._lookups[url] = _Lookup(now, asyncio.create_task(self._run_lookup(url)))
        lookup.task.add_done_callback(_retrieve_exception)
        return lookup

    async def _run_lookup(self, url: str) -> Issuer | None:
        lookup = self._lookups[url]
        try:
            return self._store(url, await self._find_record(url), lookup)
        finally:
            if self._lookups.get(url) is lookup:
                del self._lookups[url]

    def _store(self, url: str, record: IssuerRecord | None, lookup: _Lookup) -> Issuer | None:
        """Caches the result of a lookup. A result that is older than the cached issuer is ignored."""
        cached = self._cached.get(url)
        if cached is not None and lookup.started_at < cached.key_set.looked_up_at:
            return cached.issuer
        self._cached.pop(url, None)
        if cached is not None and (record is None or _mapping_of(record) != cached.issuer.mapping):
            # Tokens that were verified for another tenant or with another mapping must be verified again.
            cached.key_set.revoke()
            cached = None
        if record is None:
            _put_bounded(self._absence_seen_at, url, lookup.started_at, self._max_cached)
            return None
        self._absence_seen_at.pop(url, None)
        if cached is None:
            cached = self._new_entry(record)
        else:
            self._update_keys(cached, record)
        cached.key_set.looked_up_at = lookup.started_at
        _put_bounded(self._cached, url, cached, self._max_cached)
        return cached.issuer

    def _new_entry(self, record: IssuerRecord) -> _CachedIssuer:
        key_set = TenantKeySet(
            keys=self._keys_of(record, FixedKeys({})),
            max_age_seconds=self._max_age_seconds,
            clock=self._clock,
            refresh=lambda key_set: self._look_up_early(record.issuer, key_set),
        )
        issuer = Issuer(url=record.issuer, keys=key_set, mapping=_mapping_of(record))
        return _CachedIssuer(issuer=issuer, key_set=key_set, keys_digest=keys_digest(record))

    def _update_keys(self, cached: _CachedIssuer, record: IssuerRecord) -> None:
        new_digest = keys_digest(record)
        if new_digest != cached.keys_digest:
            cached.keys_digest = new_digest
            cached.key_set.keys = self._keys_of(record, cached.key_set.keys)

    def _keys_of(self, record: IssuerRecord, previous_keys: KeySet) -> KeySet:
        if record.jwks is None:
            return self._new_fetched_keys(record.jwks_uri, record.issuer)
        keys = parse_jwks_leniently(orjson.loads(record.jwks))
        if isinstance(previous_keys, FixedKeys):
            keys = reuse_unchanged_keys(previous_keys.keys, keys)
        return FixedKeys(keys)


def _mapping_of(record: IssuerRecord) -> ClaimMapping:
    """Returns the stored mapping. It can only name the tenant of the record."""
    return parse_claim_mapping(orjson.loads(record.mapping or "{}"), record.tenant)


def _put_bounded(cache: dict[str, Value], url: str, value: Value, max_size: int) -> None:
    """Adds an entry. A full cache removes the entry that was added first."""
    cache.pop(url, None)
    if len(cache) >= max_size:
        del cache[next(iter(cache))]
    cache[url] = value


def _retrieve_exception(task: "asyncio.Task[Issuer | None]") -> None:
    """Prevents the warning of asyncio about an exception that was never retrieved. Without this, asyncio warns if all
    requests that waited for the lookup were cancelled."""
    if not task.cancelled():
        task.exception()
