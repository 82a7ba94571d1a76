"""`SessionCache`: gives out the credentials of sessions, caches them, and refreshes them before they expire."""

import random
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock

from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_refresh import RefreshSchedule, boottime, wait_for_result
from keyfence_iam.sts.session_spec import (
    SessionRefused,
    SessionSpec,
    SessionThrottled,
    SessionUnavailable,
    StsConnectionLost,
)
from keyfence_iam.sts.sts_health import StsHealth
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket, call_budget

MAX_SESSIONS = 10_000
"""The maximum number of cached sessions. The least recently used session is removed first."""
STS_CALLS_PER_SECOND = 50.0
"""The default budget of calls to STS."""
STS_THREADS = 8
"""The maximum number of calls to STS at the same time."""

AssumeRole = Callable[[SessionSpec, int], Credentials]
"""A function that requests a session from STS. The second argument is the lifetime of the session in seconds. The
function raises SessionUnavailable if STS issues no session."""


@dataclass(slots=True, kw_only=True)
class CachedSession:
    """The credentials of a session, until when they are given out, and when they are refreshed."""

    credentials: Credentials
    valid_until: float
    refresh_at: float
    was_used: bool
    """Whether the credentials were given out since the last refresh. An unused session is not refreshed."""
    failures: int = 0
    """The number of refreshes that failed in a row."""

    def is_due(self, now: float) -> bool:
        """Whether the session must be refreshed or removed."""
        return now >= self.valid_until or (self.was_used and now >= self.refresh_at)


class SessionCache:
    """Gives out the credentials of sessions. Several event loops can use one cache.

    A cached session is given out without waiting. STS is called in threads. All callers that wait for the same session
    share one call.
    """

    def __init__(
        self,
        assume: AssumeRole,
        *,
        schedule: RefreshSchedule = RefreshSchedule(),  # noqa: B008
        budget: TokenBucket | None = None,
        max_sessions: int = MAX_SESSIONS,
        clock: Callable[[], float] = boottime,
        random_number: Callable[[], float] = random.random,
    ) -> None:
        self.counts: Counter[str] = Counter(issued=0, renewed=0, failed=0, throttled=0)
        """The numbers of issued and renewed sessions, of failed requests, and of requests that exceeded the budget."""
        self.health = StsHealth(clock)
        self._assume = assume
        self._schedule = schedule
        self._budget = budget or call_budget(STS_CALLS_PER_SECOND)
        self._max_sessions = max_sessions
        self._clock = clock
        self._random_number = random_number
        self._lock = Lock()
        self._sessions: OrderedDict[SessionSpec, CachedSession] = OrderedDict()
        self._pending: dict[SessionSpec, Future[Credentials]] = {}
        self._recent_failures: dict[SessionSpec, tuple[float, SessionUnavailable]] = {}
        """The time until which callers get the last failure again, and the failure."""
        self._next_replacement_at: dict[SessionSpec, float] = {}
        """When a denied session may be replaced again."""
        self._forgotten_while_pending: set[SessionSpec] = set()
        """Sessions that are requested now and must not be cached."""
        self._threads = ThreadPoolExecutor(STS_THREADS, thread_name_prefix="sts")

    async def credentials(self, spec: SessionSpec) -> Credentials:
        """Returns the credentials of a session. Raises SessionUnavailable if STS does not issue one in time."""
        with self._lock:
            found = self._find_or_request(spec)
        return found if isinstance(found, Credentials) else await self._wait(found)

    async def replace(self, spec: SessionSpec, denied: Credentials) -> Credentials | None:
        """Returns other credentials after a call was denied, because the session of the call may have been revoked.

        Returns None if the cache has no other credentials and cannot get any now. The denied session stays in the cache
        until STS has issued a new session: if the call was denied for another reason, the session is still valid.
        """
        with suppress(Exception):  # the error is already logged, and the caller reports the denial
            with self._lock:
                found = self._find_or_request_other(spec, denied)
            replacement = found if found is None or isinstance(found, Credentials) else await self._wait(found)
            return None if replacement == denied else replacement
        return None

    def forget(self, tenant: TenantId) -> None:
        """Removes the sessions of a tenant. Sessions that are requested now will not be cached either."""
        with self._lock:
            for spec in [spec for spec in self._sessions if spec.tenant == tenant]:
                del self._sessions[spec]
            self._forgotten_while_pending.update(spec for spec in self._pending if spec.tenant == tenant)

    def refresh_due_sessions(self) -> None:
        """Starts to refresh the used sessions that are due for a refresh, and removes the sessions that expired.

        After a failure it also requests a session, so that the end of an outage is noticed without requests of tenants.
        The lock is taken for each session separately, so that callers do not wait until all sessions are processed.
        """
        now = self._clock()
        with self._lock:
            sessions = list(self._sessions.items())
            self._recent_failures = {
                spec: (until, error) for spec, (until, error) in self._recent_failures.items() if now < until
            }
            self._next_replacement_at = {
                spec: allowed_at for spec, allowed_at in self._next_replacement_at.items() if now < allowed_at
            }
        for spec in [spec for spec, session in sessions if session.is_due(now)]:
            with self._lock:
                self._refresh_or_remove(spec, now)
        for spec in self.health.failed_specs():
            with self._lock:
                self._probe(spec, now)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, pending: "Future[Credentials]") -> Credentials:
        return await wait_for_result(pending, self._schedule.max_wait_seconds)

    def _find_or_request(self, spec: SessionSpec) -> "Credentials | Future[Credentials]":
        """Returns cached credentials, or the future of a call to STS.

        Raises SessionUnavailable if the last call failed a short time ago, or if the budget is used up.
        """
        now = self._clock()
        session = self._sessions.get(spec)
        if session is None or now >= session.valid_until:
            return self._pending.get(spec) or self._request_new(spec, now)
        session.was_used = True
        self._sessions.move_to_end(spec)
        if session.is_due(now):
            self._refresh(spec, now)
        return session.credentials

    def _find_or_request_other(
        self, spec: SessionSpec, denied: Credentials
    ) -> "Credentials | Future[Credentials] | None":
        """Returns credentials other than the denied ones, or the future of a call to STS.

        Returns None if the denied session was replaced a short time ago, or if the budget is used up.
        """
        now = self._clock()
        session = self._sessions.get(spec)
        if session is None or session.credentials != denied:
            return self._find_or_request(spec)
        if pending := self._pending.get(spec):
            return pending
        if now < self._next_replacement_at.get(spec, now) or not self._budget.try_take(1.0, now):
            return None
        self._next_replacement_at[spec] = now + self._schedule.replacement_interval_seconds
        return self._start_request(spec, now)

    def _request_new(self, spec: SessionSpec, now: float) -> "Future[Credentials]":
        self._sessions.pop(spec, None)
        self._raise_recent_failure(spec, now)
        if not self._budget.try_take(1.0, now):
            self.counts["throttled"] += 1
            raise SessionThrottled("the budget for calls to STS is used up", self._budget.seconds_until(1.0, now))
        return self._start_request(spec, now)

    def _raise_recent_failure(self, spec: SessionSpec, now: float) -> None:
        until, error = self._recent_failures.get(spec, (now, None))
        if error is not None and now < until:
            raise error.with_traceback(None)

    def _refresh_or_remove(self, spec: SessionSpec, now: float) -> None:
        session = self._sessions.get(spec)
        if session and now >= session.valid_until:
            del self._sessions[spec]
        elif session and session.is_due(now):
            self._refresh(spec, now)

    def _refresh(self, spec: SessionSpec, now: float) -> None:
        """Starts a refresh. If the budget is used up, the session stays due and is refreshed later."""
        if spec not in self._pending and self._budget.try_take(1.0, now, use_reserve=True):
            self._start_request(spec, now)

    def _probe(self, spec: SessionSpec, now: float) -> None:
        """Requests a session to learn whether STS works again.

        A session in use is not requested, because its next refresh also shows whether STS works.
        The new session is not cached, because its tenant may have been suspended since the failure.
        """
        session = self._sessions.get(spec)
        is_in_use = session is not None and session.was_used
        if not is_in_use and spec not in self._pending and self._budget.try_take(1.0, now):
            self._forgotten_while_pending.add(spec)
            self._start_request(spec, now)

    def _start_request(self, spec: SessionSpec, now: float) -> "Future[Credentials]":
        try:
            pending = self._threads.submit(self._request_and_store, spec, now + self._schedule.max_wait_seconds)
        except RuntimeError as error:
            raise SessionUnavailable("the session cache is closed") from error
        self._pending[spec] = pending
        return pending

    def _request_and_store(self, spec: SessionSpec, deadline: float) -> Credentials:
        """Requests a session in a thread, and stores the session or the failure.

        The lifetime of the session is measured on the clock of this process, which can differ from the clock of STS.
        It is counted from the time before the call, so that the session never ends earlier than the cache expects.
        """
        requested_at = self._clock()
        try:
            credentials = self._call_sts(spec, waited_too_long=requested_at > deadline)
        except BaseException as error:
            failure = _as_unavailable(error)
            self._end_request(spec, partial(self._store_failure, spec, failure))
            self.health.record_failure(spec, failure)
            raise
        self._end_request(spec, partial(self._store_session, spec, credentials, requested_at))
        self.health.record_session(spec)
        return credentials

    def _end_request(self, spec: SessionSpec, store_outcome: Callable[[], None]) -> None:
        """Stores the outcome and removes the pending call.

        The pending call is removed even if storing fails. Otherwise later callers would wait for a call that has ended.
        """
        with self._lock:
            try:
                store_outcome()
            finally:
                del self._pending[spec]
                self._forgotten_while_pending.discard(spec)

    def _call_sts(self, spec: SessionSpec, *, waited_too_long: bool) -> Credentials:
        """Calls STS. Calls it a second time if the connection was lost and the budget allows another call.

        If all waiters have already timed out, STS is not called. Otherwise a long queue of useless calls would delay
        new callers after an outage.
        """
        if waited_too_long:
            raise SessionUnavailable("the request waited too long for a free thread; STS was not called")
        try:
            return self._assume(spec, self._schedule.session_seconds)
        except StsConnectionLost:
            with self._lock:
                can_retry = self._budget.try_take(1.0, self._clock())
            if not can_retry:
                raise
        return self._assume(spec, self._schedule.session_seconds)

    def _store_session(self, spec: SessionSpec, credentials: Credentials, requested_at: float) -> None:
        is_refresh = spec in self._sessions
        self.counts["renewed" if is_refresh else "issued"] += 1
        if spec in self._forgotten_while_pending:
            return
        self._sessions[spec] = CachedSession(
            credentials=credentials,
            valid_until=requested_at + self._schedule.session_seconds - self._schedule.expiry_margin_seconds,
            refresh_at=requested_at + self._schedule.refresh_delay_seconds(self._random_number()),
            was_used=not is_refresh,
        )
        if len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    def _store_failure(self, spec: SessionSpec, failure: SessionUnavailable) -> None:
        self.counts["failed"] += 1
        now = self._clock()
        if session := self._sessions.get(spec):
            session.failures += 1
            session.refresh_at = now + self._schedule.retry_delay_seconds(session.failures, self._random_number())
        self._recent_failures[spec] = (now + self._schedule.failure_cache_seconds, failure)


def _as_unavailable(error: BaseException) -> SessionUnavailable:
    """Returns the error, or a SessionRefused for an unexpected error: the same request would fail again."""
    return error if isinstance(error, SessionUnavailable) else SessionRefused(f"{type(error).__name__}: {error}")
