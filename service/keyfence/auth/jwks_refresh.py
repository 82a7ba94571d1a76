"""`FetchedKeys`: the keys of an issuer, fetched from a URL. Old keys are fetched again. During an outage of the
issuer's server, old keys are still used for a limited time."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog

from keyfence.auth.egress import PUBLIC_ADDRESSES, EgressPolicy, parse_tenant_uri
from keyfence.auth.http_get import DEFAULT_LIMITS, FetchLimits
from keyfence.auth.jwks_url import DiscoveredJwks, JwksUnavailable, JwksUrl
from keyfence.auth.key_set import KeysById, KeySet, VerificationKey, reuse_unchanged_keys
from keyfence.errors import Throttled

FETCH_THREADS = 16
"""How many threads fetch the key sets of tenants. Each thread waits for one server at a time."""

REFRESH_TASK_NAME = "jwks-refresh"

RunInThread = Callable[[Callable[[], KeysById]], Awaitable[KeysById]]
"""A function that runs a blocking fetch in a thread."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPolicy:
    """How often a key set is fetched, and how long its keys are used."""

    min_interval_seconds: float = 10
    """The shortest time between two fetches. Without it, every token with an invented kid would cause a fetch."""
    fresh_seconds: float = 600
    """A key set that was fetched longer ago is fetched again when a request needs it."""
    usable_seconds: float = 3600
    """A key set that was fetched longer ago is not used, even during an outage. So a key that the issuer has withdrawn
    stops working."""
    wait_seconds: float = 5
    """How long a request waits for a fetch."""


class FetchedKeys:
    """The keys of an issuer, fetched from a URL. They are fetched again if a kid is unknown or the key set is no longer
    fresh, but not more often than the policy allows.

    One fetch runs at a time, and all requests that need its result wait for it. During an outage of the issuer's
    server, keys that were fetched before stay valid for `usable_seconds`, and requests with these keys do not wait. A
    request with another key gets Throttled and not Unauthenticated: the issuer may have added the key, so the client
    should send the same token again."""

    def __init__(
        self,
        fetch: Callable[[], KeysById],
        *,
        clock: Callable[[], float] = time.monotonic,
        policy: RefreshPolicy | None = None,
        run_in_thread: RunInThread = asyncio.to_thread,
        issuer: str = "",
    ) -> None:
        """`issuer` is only for the log."""
        self._fetch, self._clock, self._policy = fetch, clock, policy or RefreshPolicy()
        self._run_in_thread, self._issuer = run_in_thread, issuer
        self._keys: KeysById = {}
        self._fetched_at = self._tried_at = -math.inf
        self._is_failing = False
        self._refresh: asyncio.Task[None] | None = None

    async def find(self, kid: str) -> VerificationKey | None:
        """Returns the key, or None if the issuer has no key with this kid. Raises Throttled if the key is unknown or
        too old, and the issuer's current keys cannot be fetched."""
        if kid not in self._keys or self._age_seconds() >= self._policy.fresh_seconds:
            self._start_refresh_if_due()
            await self._wait_for_refresh(is_known_key=kid in self._keys)
        return self._find_fetched(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self._keys.get(key.kid) is key and self._age_seconds() < self._policy.usable_seconds

    def _age_seconds(self) -> float:
        return self._clock() - self._fetched_at

    def _is_refreshing(self) -> bool:
        return self._refresh is not None and not self._refresh.done()

    def _start_refresh_if_due(self) -> None:
        now = self._clock()
        if not self._is_refreshing() and now - self._tried_at >= self._policy.min_interval_seconds:
            self._tried_at = now
            self._refresh = asyncio.create_task(self._run_refresh(), name=REFRESH_TASK_NAME)

    async def _wait_for_refresh(self, *, is_known_key: bool) -> None:
        """Waits for the running fetch, at most `wait_seconds`. During an outage, a request with a known key does not
        wait. A fetch that takes longer than `wait_seconds` counts as an outage."""
        needs_no_fetch = is_known_key and self._is_failing and self._age_seconds() < self._policy.usable_seconds
        if self._refresh is None or self._refresh.done() or needs_no_fetch:
            return
        _, unfinished = await asyncio.wait({self._refresh}, timeout=self._policy.wait_seconds)
        self._is_failing = self._is_failing or bool(unfinished)

    async def _run_refresh(self) -> None:
        started_at = self._clock()
        try:
            fetched_keys = await self._run_in_thread(self._fetch)
        except JwksUnavailable as error:
            self._is_failing = True
            log.warning("jwks_unavailable", issuer=self._issuer, reason=str(error))
        else:
            self._keys = reuse_unchanged_keys(self._keys, fetched_keys)
            self._fetched_at, self._is_failing = started_at, False

    def _find_fetched(self, kid: str) -> VerificationKey | None:
        key = self._keys.get(kid)
        may_be_new_key = key is None and (self._is_failing or self._is_refreshing())
        if may_be_new_key or self._age_seconds() >= self._policy.usable_seconds:
            raise self._outage_error()
        return key

    def _outage_error(self) -> Throttled:
        next_fetch_at = self._tried_at + self._policy.min_interval_seconds
        retry_seconds = max(1.0, next_fetch_at - self._clock())
        message = "the keys of the token's issuer cannot be fetched at the moment; retry"
        return Throttled(message, retryAfterMs=math.ceil(retry_seconds * 1000))


class JwksFetcher:
    """Makes the key sets of tenants' issuers, and fetches them in threads that nothing else in the process uses.

    Each key set is fetched by at most one thread at a time, so a slow server of one issuer occupies at most one
    thread."""

    def __init__(
        self,
        *,
        egress: EgressPolicy = PUBLIC_ADDRESSES,
        limits: FetchLimits = DEFAULT_LIMITS,
        policy: RefreshPolicy | None = None,
        threads: int = FETCH_THREADS,
        allow_development_keys: bool = False,
    ) -> None:
        self._egress, self._limits, self._policy = egress, limits, policy
        self._allow_development_keys = allow_development_keys
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="jwks")

    def key_set(self, jwks_uri: str | None, issuer: str) -> KeySet:
        """Returns the keys at this URI. If it is None, returns the keys that the issuer's metadata name.

        Raises BadJwksUri if a tenant may not use the URI or the issuer."""
        fetch_options = (self._egress, self._limits, self._allow_development_keys)
        if jwks_uri is None:
            fetch = DiscoveredJwks.of(issuer, parse_tenant_uri, *fetch_options).fetch
        else:
            fetch = JwksUrl(parse_tenant_uri(jwks_uri), *fetch_options).fetch
        return FetchedKeys(fetch, policy=self._policy, run_in_thread=self._run_in_thread, issuer=issuer)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run_in_thread(self, fetch: Callable[[], KeysById]) -> KeysById:
        return await asyncio.get_running_loop().run_in_executor(self._threads, fetch)
