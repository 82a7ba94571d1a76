"""The keys of an issuer: `FixedKeys`, or `FetchedKeys` from a URL, which are refreshed and survive outages."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import orjson
import structlog

from keyfence.auth.egress import ANY_ADDRESS, PUBLIC_ADDRESSES, EgressPolicy, FetchTarget, parse_tenant_uri
from keyfence.auth.http_get import DEFAULT_LIMITS, FetchFailed, FetchLimits, http_get
from keyfence.auth.jwk_parser import parse_jwks_leniently
from keyfence.auth.key_set import Keys, KeySet, keep_unchanged
from keyfence.auth.signature_algorithms import VerificationKey
from keyfence.errors import Throttled

MAX_KEYS = 64
FETCH_THREADS = 16
REFRESH_TASK = "jwks-refresh"

Run = Callable[[Callable[[], Keys]], Awaitable[Keys]]
"""Runs a blocking fetch in a thread."""

log = structlog.get_logger(__name__)


class JwksUnavailable(Exception):
    """The key set could not be fetched. The message is for the log."""


@dataclass(frozen=True, slots=True)
class JwksUrl:
    """A URL that serves a key set."""

    target: FetchTarget
    egress: EgressPolicy = ANY_ADDRESS
    limits: FetchLimits = DEFAULT_LIMITS

    def fetch(self) -> Keys:
        """Returns the usable keys. Raises JwksUnavailable. It can block for seconds: call it in a thread."""
        try:
            keys = parse_jwks_leniently(orjson.loads(http_get(self.target, self.egress, self.limits)))
        except FetchFailed as error:
            raise JwksUnavailable(str(error)) from error
        except ValueError as error:
            raise JwksUnavailable(type(error).__name__) from error
        if len(keys) > MAX_KEYS:
            raise JwksUnavailable(f"more than {MAX_KEYS} keys")
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPolicy:
    """How often a key set is fetched, how long it is fresh and usable, and how long requests wait (all in seconds)."""

    min_interval: float = 10
    fresh_seconds: float = 600
    usable_seconds: float = 3600
    wait_seconds: float = 5


class FetchedKeys:
    """Keys from a URL. They are fetched if a kid is unknown or the set is no longer fresh, but not more often than the
    policy allows.

    One fetch runs at a time, and all requests wait for it. If the source fails, known keys stay valid until the set is
    no longer usable, and requests for them do not wait. A request for a key that cannot be judged then gets Throttled
    and not Unauthenticated: the outage is on our side, and the client should send the same token again."""

    def __init__(
        self,
        fetch: Callable[[], Keys],
        *,
        clock: Callable[[], float] = time.monotonic,
        refresh: RefreshPolicy | None = None,
        run: Run = asyncio.to_thread,
        issuer: str = "",
    ) -> None:
        self._fetch, self._clock, self._policy, self._run = fetch, clock, refresh or RefreshPolicy(), run
        self._issuer = issuer
        self._keys: Keys = {}
        self._fetched_at = self._tried_at = -math.inf
        self._is_failing = False
        self._refresh: asyncio.Task[None] | None = None

    async def find(self, kid: str) -> VerificationKey | None:
        if kid not in self._keys or self._age() >= self._policy.fresh_seconds:
            self._start_refresh_if_due()
            await self._wait_for_refresh(is_known=kid in self._keys)
        return self._known_key(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self._keys.get(key.kid) is key and self._age() < self._policy.usable_seconds

    def _age(self) -> float:
        return self._clock() - self._fetched_at

    def _is_refreshing(self) -> bool:
        return self._refresh is not None and not self._refresh.done()

    def _start_refresh_if_due(self) -> None:
        now = self._clock()
        if not self._is_refreshing() and now - self._tried_at >= self._policy.min_interval:
            self._tried_at = now
            self._refresh = asyncio.create_task(self._run_refresh(), name=REFRESH_TASK)

    async def _wait_for_refresh(self, *, is_known: bool) -> None:
        """Waits for the current fetch, but not for long. During an outage, requests for known keys do not wait."""
        need_not_wait = is_known and self._is_failing and self._age() < self._policy.usable_seconds
        if self._refresh is None or self._refresh.done() or need_not_wait:
            return
        _, unfinished = await asyncio.wait({self._refresh}, timeout=self._policy.wait_seconds)
        self._is_failing = self._is_failing or bool(unfinished)

    async def _run_refresh(self) -> None:
        started_at = self._clock()
        try:
            fetched = await self._run(self._fetch)
        except JwksUnavailable as error:
            self._is_failing = True
            log.warning("jwks_unavailable", issuer=self._issuer, reason=str(error))
        else:
            self._keys = keep_unchanged(self._keys, fetched)
            self._fetched_at, self._is_failing = started_at, False

    def _known_key(self, kid: str) -> VerificationKey | None:
        """Returns the key, or None if the set certainly does not have it. Raises Throttled if that is not certain."""
        key = self._keys.get(kid)
        is_uncertain = key is None and (self._is_failing or self._is_refreshing())
        if is_uncertain or self._age() >= self._policy.usable_seconds:
            raise self._outage()
        return key

    def _outage(self) -> Throttled:
        wait = max(1.0, self._tried_at + self._policy.min_interval - self._clock())
        message = "the keys of the token's issuer cannot be fetched at the moment; retry"
        return Throttled(message, retryAfterMs=math.ceil(wait * 1000))


class JwksFetcher:
    """Makes the key sets of tenants' issuers, and fetches them in its own threads.

    A key set is fetched by one thread at a time, so a slow provider occupies at most one. Nothing else in the process
    uses these threads."""

    def __init__(
        self,
        *,
        egress: EgressPolicy = PUBLIC_ADDRESSES,
        limits: FetchLimits = DEFAULT_LIMITS,
        refresh: RefreshPolicy | None = None,
        threads: int = FETCH_THREADS,
    ) -> None:
        self._egress, self._limits, self._refresh = egress, limits, refresh
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="jwks")

    def key_set(self, uri: str, issuer: str) -> KeySet:
        """Raises BadJwksUri if a tenant may not use this URI."""
        source = JwksUrl(parse_tenant_uri(uri), self._egress, self._limits)
        return FetchedKeys(source.fetch, refresh=self._refresh, run=self._run, issuer=issuer)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, fetch: Callable[[], Keys]) -> Keys:
        return await asyncio.get_running_loop().run_in_executor(self._threads, fetch)
