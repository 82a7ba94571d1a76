"""`SessionCache`: credentials per session spec, cached and refreshed before they expire."""

import random
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock

import structlog

from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_refresh import RefreshSchedule, boottime, wait_for_result
from keyfence_iam.sts.session_spec import SessionSpec, SessionThrottled, SessionUnavailable, StsConnectionLost
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket, call_budget

MAX_SESSIONS = 10_000
STS_CALLS_PER_SECOND = 50.0
THREADS = 8

AssumeRole = Callable[[SessionSpec, int], Credentials]
"""Returns a new session of this many seconds, or raises SessionUnavailable."""

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class CachedSession:
    """Credentials, until when they are given out, and when they are refreshed."""

    credentials: Credentials
    valid_until: float
    refresh_at: float
    used: bool
    """Whether they were given out since they were issued. An unused session is not refreshed."""
    failures: int = 0
    """Refreshes that failed in a row."""

    def is_due(self, now: float) -> bool:
        """Whether the session is to be refreshed or removed."""
        return now >= self.valid_until or (self.used and now >= self.refresh_at)


class SessionCache:
    """Gives out credentials for a session spec, in any event loop. Raises SessionUnavailable if there are none.

    A cached session is returned without waiting. STS is called in threads, with one call at a time for each spec,
    however many callers wait for it.
    """

    def __init__(
        self,
        assume: AssumeRole,
        *,
        schedule: RefreshSchedule = RefreshSchedule(),  # noqa: B008
        budget: TokenBucket | None = None,
        max_sessions: int = MAX_SESSIONS,
        clock: Callable[[], float] = boottime,
        random_share: Callable[[], float] = random.random,
    ) -> None:
        self.counts: Counter[str] = Counter(issued=0, renewed=0, failed=0, throttled=0)
        self._assume = assume
        self._schedule = schedule
        self._budget = budget or call_budget(STS_CALLS_PER_SECOND)
        self._max_sessions = max_sessions
        self._clock = clock
        self._random_share = random_share
        self._lock = Lock()
        self._sessions: OrderedDict[SessionSpec, CachedSession] = OrderedDict()
        self._pending: dict[SessionSpec, Future[Credentials]] = {}
        self._failures: dict[SessionSpec, tuple[float, SessionUnavailable]] = {}
        self._replaced: dict[SessionSpec, float] = {}
        self._forgotten: set[SessionSpec] = set()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sts")

    async def credentials(self, spec: SessionSpec) -> Credentials:
        with self._lock:
            found = self._find(spec)
        return found if isinstance(found, Credentials) else await self._wait(found)

    async def replace(self, spec: SessionSpec, denied: Credentials) -> Credentials | None:
        """Returns another session than the denied one, which may have been revoked. Returns None if there is none.

        The denied session stays in the cache until there is another: during an outage of STS, a call that was denied
        for another reason costs nobody a valid session.
        """
        with suppress(Exception):  # the error is in the log, and the caller has the denial to report
            with self._lock:
                found = self._find_other(spec, denied)
            other = found if found is None or isinstance(found, Credentials) else await self._wait(found)
            return None if other == denied else other
        return None

    def forget(self, tenant: TenantId) -> None:
        """Removes this tenant's sessions. Sessions that are being requested now are not cached either."""
        with self._lock:
            for spec in [spec for spec in self._sessions if spec.tenant == tenant]:
                del self._sessions[spec]
            self._forgotten.update(spec for spec in self._pending if spec.tenant == tenant)

    def refresh_due(self) -> None:
        """Refreshes sessions that are in use, and removes those that expired unused.

        The lock is taken for each session separately, so that requests do not wait for all of them.
        """
        now = self._clock()
        with self._lock:
            sessions = list(self._sessions.items())
            self._failures = {spec: failure for spec, failure in self._failures.items() if now < failure[0]}
            self._replaced = {spec: until for spec, until in self._replaced.items() if now < until}
        for spec in [spec for spec, session in sessions if session.is_due(now)]:
            with self._lock:
                self._refresh_or_remove(spec, now)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, pending: "Future[Credentials]") -> Credentials:
        return await wait_for_result(pending, self._schedule.max_wait)

    def _find(self, spec: SessionSpec) -> "Credentials | Future[Credentials]":
        now = self._clock()
        session = self._sessions.get(spec)
        if session is None or now >= session.valid_until:
            return self._pending.get(spec) or self._request_new(spec, now)
        session.used = True
        self._sessions.move_to_end(spec)
        if session.is_due(now):
            self._refresh(spec, now)
        return session.credentials

    def _find_other(self, spec: SessionSpec, denied: Credentials) -> "Credentials | Future[Credentials] | None":
        now = self._clock()
        session = self._sessions.get(spec)
        if session is None or session.credentials != denied:
            return self._find(spec)
        if pending := self._pending.get(spec):
            return pending
        if now < self._replaced.get(spec, now) or not self._budget.try_take(1.0, now):
            return None
        self._replaced[spec] = now + self._schedule.replacement_interval
        return self._start(spec, now)

    def _request_new(self, spec: SessionSpec, now: float) -> "Future[Credentials]":
        self._sessions.pop(spec, None)
        self._raise_recent_failure(spec, now)
        if not self._budget.try_take(1.0, now):
            self.counts["throttled"] += 1
            raise SessionThrottled("the budget for calls to STS is used up", self._budget.seconds_until(1.0, now))
        return self._start(spec, now)

    def _raise_recent_failure(self, spec: SessionSpec, now: float) -> None:
        if spec in self._failures and now < self._failures[spec][0]:
            raise self._failures[spec][1].with_traceback(None)

    def _refresh_or_remove(self, spec: SessionSpec, now: float) -> None:
        session = self._sessions.get(spec)
        if session and now >= session.valid_until:
            del self._sessions[spec]
        elif session and session.is_due(now):
            self._refresh(spec, now)

    def _refresh(self, spec: SessionSpec, now: float) -> None:
        """If the budget is used up, the session stays due and the next caller or the thread tries again."""
        if spec not in self._pending and self._budget.try_take(1.0, now, use_reserve=True):
            self._start(spec, now)

    def _start(self, spec: SessionSpec, now: float) -> "Future[Credentials]":
        try:
            pending = self._threads.submit(self._request, spec, now + self._schedule.max_wait)
        except RuntimeError as error:
            raise SessionUnavailable("the session cache is closed") from error
        self._pending[spec] = pending
        return pending

    def _request(self, spec: SessionSpec, deadline: float) -> Credentials:
        """A lifetime counts from before the call, by our own clock, whatever the clock of STS says."""
        requested_at = self._clock()
        try:
            credentials = self._call_sts(spec, late=requested_at > deadline)
        except BaseException as error:
            self._finish(spec, partial(self._store_failure, spec, error))
            _log_failure(spec, error)
            raise
        self._finish(spec, partial(self._store, spec, credentials, requested_at))
        return credentials

    def _finish(self, spec: SessionSpec, store_outcome: Callable[[], None]) -> None:
        """Ends the pending call, also if it failed: later callers must not wait for it."""
        with self._lock:
            try:
                store_outcome()
            finally:
                del self._pending[spec]
                self._forgotten.discard(spec)

    def _call_sts(self, spec: SessionSpec, *, late: bool) -> Credentials:
        """A call whose waiters have already timed out is not made. So no queue of calls is left after an outage."""
        if late:
            raise SessionUnavailable("too many sessions were waiting for STS")
        try:
            return self._assume(spec, self._schedule.session_seconds)
        except StsConnectionLost:
            with self._lock:
                can_retry = self._budget.try_take(1.0, self._clock())
            if not can_retry:
                raise
        return self._assume(spec, self._schedule.session_seconds)

    def _store(self, spec: SessionSpec, credentials: Credentials, requested_at: float) -> None:
        renewed = spec in self._sessions
        self.counts["renewed" if renewed else "issued"] += 1
        if spec in self._forgotten:
            return
        self._sessions[spec] = CachedSession(
            credentials=credentials,
            valid_until=requested_at + self._schedule.session_seconds - self._schedule.expiry_margin,
            refresh_at=requested_at + self._schedule.refresh_after(self._random_share()),
            used=not renewed,
        )
        if len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    def _store_failure(self, spec: SessionSpec, error: BaseException) -> None:
        self.counts["failed"] += 1
        now = self._clock()
        if session := self._sessions.get(spec):
            session.failures += 1
            session.refresh_at = now + self._schedule.retry_after(session.failures, self._random_share())
        unavailable = (
            error if isinstance(error, SessionUnavailable) else SessionUnavailable(f"{type(error).__name__}: {error}")
        )
        self._failures[spec] = (now + self._schedule.failure_memory, unavailable)


def _log_failure(spec: SessionSpec, error: BaseException) -> None:
    """A log that cannot be written must not change the outcome for the waiters."""
    with suppress(Exception):
        log.error("session_unavailable", role=spec.role, tenant=spec.tenant, scope=spec.scope, reason=str(error))
