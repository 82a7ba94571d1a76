"""`FixedKeys`, `FetchedKeys` (refresh, outage), the fetching threads."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import orjson
import structlog

from keyfence.auth.egress import ANY_ADDRESS, PUBLIC_ADDRESSES, EgressPolicy, FetchTarget, parse_tenant_uri
from keyfence.auth.http_get import DEFAULT_LIMITS, FetchFailed, FetchLimits, http_get
from keyfence.auth.jwks import VerificationKey, parse_jwks_leniently
from keyfence.errors import Throttled

MAX_KEYS = 64


class JwksUnavailable(Exception):
    """The key set could not be had; the message is for the log."""


@dataclass(frozen=True, slots=True)
class JwksUrl:
    target: FetchTarget
    egress: EgressPolicy = ANY_ADDRESS
    limits: FetchLimits = DEFAULT_LIMITS

    def fetch(self) -> Mapping[str, VerificationKey]:
        """Blocks for seconds at worst: call it in a thread."""
        try:
            keys = parse_jwks_leniently(orjson.loads(http_get(self.target, self.egress, self.limits)))
        except FetchFailed as error:
            raise JwksUnavailable(str(error)) from error
        except ValueError as error:
            raise JwksUnavailable(type(error).__name__) from error
        if len(keys) > MAX_KEYS:
            raise JwksUnavailable(f"more than {MAX_KEYS} keys")
        return keys


Keys = Mapping[str, VerificationKey]
Run = Callable[[Callable[[], Keys]], Awaitable[Keys]]
"""Does what blocks, in a thread."""

REFRESH_TASK = "jwks-refresh"

log = structlog.get_logger(__name__)


def keep_unchanged(before: Keys, after: Keys) -> Keys:
    """A key that did not change stays the same object, so that `holds` need not compare numbers."""
    return {kid: before[kid] if before.get(kid) == key else key for kid, key in after.items()}


class KeySet(Protocol):
    async def find(self, kid: str) -> VerificationKey | None: ...

    def contains(self, key: VerificationKey) -> bool:
        """Whether `find` would still answer with this very key, without looking anywhere."""
        ...


@dataclass(frozen=True, slots=True)
class FixedKeys:
    keys: Keys

    async def find(self, kid: str) -> VerificationKey | None:
        return self.keys.get(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self.keys.get(key.kid) is key


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPolicy:
    """How often a set is fetched and how long it is believed, in seconds."""

    min_interval: float = 10
    fresh_seconds: float = 600
    usable_seconds: float = 3600
    wait_seconds: float = 5


class FetchedKeys:
    """Keys behind an address, fetched when a kid is unknown or the set is old, never faster than the pace allows.

    One fetch runs at a time and everyone waits for that one. While the source fails, known keys stay good until the
    set is no longer usable, and callers do not wait again. Whoever then asks for a key that we cannot judge is told
    Throttled and not Unauthenticated: it is our outage, and a good token is worth sending again.
    """

    def __init__(
        self,
        fetch: Callable[[], Keys],
        *,
        clock: Callable[[], float] = time.monotonic,
        refresh: RefreshPolicy | None = None,
        run: Run = asyncio.to_thread,
        issuer: str = "",
    ) -> None:
        self._fetch, self._clock, self._pace, self._run = fetch, clock, refresh or RefreshPolicy(), run
        self._issuer = issuer
        self._keys: Keys = {}
        self._fetched_at = self._tried_at = -math.inf
        self._failing = False
        self._flight: asyncio.Task[None] | None = None

    async def find(self, kid: str) -> VerificationKey | None:
        if kid not in self._keys or self._age() >= self._pace.fresh_seconds:
            self._depart_when_due()
            await self._land(known=kid in self._keys)
        return self._judged(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self._keys.get(key.kid) is key and self._age() < self._pace.usable_seconds

    def _age(self) -> float:
        return self._clock() - self._fetched_at

    def _in_flight(self) -> bool:
        return self._flight is not None and not self._flight.done()

    def _depart_when_due(self) -> None:
        now = self._clock()
        if not self._in_flight() and now - self._tried_at >= self._pace.min_interval:
            self._tried_at = now
            self._flight = asyncio.create_task(self._fly(), name=REFRESH_TASK)

    async def _land(self, *, known: bool) -> None:
        spared = known and self._failing and self._age() < self._pace.usable_seconds
        if self._flight is None or self._flight.done() or spared:
            return
        _, still_flying = await asyncio.wait({self._flight}, timeout=self._pace.wait_seconds)
        self._failing = self._failing or bool(still_flying)

    async def _fly(self) -> None:
        departed_at = self._clock()
        try:
            fetched = await self._run(self._fetch)
        except JwksUnavailable as error:
            self._failing = True
            log.warning("jwks_unavailable", issuer=self._issuer, reason=str(error))
        else:
            self._keys = keep_unchanged(self._keys, fetched)
            self._fetched_at, self._failing = departed_at, False

    def _judged(self, kid: str) -> VerificationKey | None:
        key = self._keys.get(kid)
        unsure = key is None and (self._failing or self._in_flight())
        if unsure or self._age() >= self._pace.usable_seconds:
            raise self._outage()
        return key

    def _outage(self) -> Throttled:
        wait = max(1.0, self._tried_at + self._pace.min_interval - self._clock())
        message = "the keys of the token's issuer cannot be read just now; try again"
        return Throttled(message, retryAfterMs=math.ceil(wait * 1000))


FETCH_THREADS = 16


class JwksFetcher:
    """One set is fetched by one thread at a time, so that a provider that is slow keeps no more than one busy.

    Nothing else of the process waits for these threads, however slow all of them are."""

    def __init__(
        self,
        *,
        egress: EgressPolicy = PUBLIC_ADDRESSES,
        limits: FetchLimits = DEFAULT_LIMITS,
        refresh: RefreshPolicy | None = None,
        threads: int = FETCH_THREADS,
    ) -> None:
        self._reach, self._bounds, self._pace = egress, limits, refresh
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="jwks")

    def key_set(self, uri: str, issuer: str) -> KeySet:
        source = JwksUrl(parse_tenant_uri(uri), self._reach, self._bounds)
        return FetchedKeys(source.fetch, refresh=self._pace, run=self._run, issuer=issuer)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, fetch: Callable[[], Keys]) -> Keys:
        return await asyncio.get_running_loop().run_in_executor(self._threads, fetch)
