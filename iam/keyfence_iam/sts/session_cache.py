"""`SessionCache`."""

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
from keyfence_iam.sts.refresh import RefreshSchedule, boottime, wait_for_result
from keyfence_iam.sts.session_spec import SessionSpec, SessionThrottled, SessionUnavailable, StsConnectionLost
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket, call_budget


@dataclass(slots=True, kw_only=True)
class CachedSession:
    """Credentials, until when they are handed out, and from when better ones are sought."""

    credentials: Credentials
    good_until: float
    renew_at: float
    used: bool
    """Since they were issued: a session that nobody used is not renewed."""
    failures: int = 0
    """Renewals that failed in a row."""

    def due(self, now: float) -> bool:
        """To be renewed, or to be let go."""
        return now >= self.good_until or (self.used and now >= self.renew_at)


AssumeRole = Callable[[SessionSpec, int], Credentials]
"""A new session of that many seconds from STS, or NoSession."""

SESSIONS = 10_000
STS_CALLS_PER_SECOND = 50.0
THREADS = 8

log = structlog.get_logger(__name__)


class SessionCache:
    """Credentials for whoever holds a Wanted, in any event loop; where there are none there is NoSession, no others.

    A session in hand is handed out without waiting. Everything else happens in threads: one fetch at a time for each
    Wanted, however many wait for it.
    """

    def __init__(
        self,
        assume: AssumeRole,
        *,
        pace: RefreshSchedule = RefreshSchedule(),  # noqa: B008
        budget: TokenBucket | None = None,
        sessions: int = SESSIONS,
        clock: Callable[[], float] = boottime,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.counts: Counter[str] = Counter(issued=0, renewed=0, failed=0, throttled=0)
        self._assume = assume
        self._pace = pace
        self._budget = budget or call_budget(STS_CALLS_PER_SECOND)
        self._largest = sessions
        self._clock = clock
        self._chance = chance
        self._lock = Lock()
        self._held: OrderedDict[SessionSpec, CachedSession] = OrderedDict()
        self._flights: dict[SessionSpec, Future[Credentials]] = {}
        self._refused: dict[SessionSpec, tuple[float, SessionUnavailable]] = {}
        self._replaced: dict[SessionSpec, float] = {}
        self._forgotten: set[SessionSpec] = set()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sts")

    async def credentials(self, wanted: SessionSpec) -> Credentials:
        with self._lock:
            found = self._find(wanted)
        return found if isinstance(found, Credentials) else await self._landed(found)

    async def replacement(self, wanted: SessionSpec, refused: Credentials) -> Credentials | None:
        """Another session than the one that was refused, which may have been revoked; None where there is none.

        The refused one is kept until there is another: while STS is away, a plain denial costs nobody a good session.
        """
        with suppress(Exception):  # it has been logged, and the refusal is what is left to say
            with self._lock:
                found = self._find_other(wanted, refused)
            other = found if found is None or isinstance(found, Credentials) else await self._landed(found)
            return None if other == refused else other
        return None

    def forget(self, tenant: TenantId) -> None:
        """Let go what is in hand of this tenant: whoever asks next asks STS, and nothing on its way is kept."""
        with self._lock:
            for wanted in [wanted for wanted in self._held if wanted.tenant == tenant]:
                del self._held[wanted]
            self._forgotten.update(wanted for wanted in self._flights if wanted.tenant == tenant)

    def refresh_due(self) -> None:
        """Without being asked: renew what has been used, and let go what nobody used to its end.

        The lock is taken for each that is due, so that those who are being served need not wait for the rest.
        """
        now = self._clock()
        with self._lock:
            held = list(self._held.items())
            self._refused = {wanted: refusal for wanted, refusal in self._refused.items() if now < refusal[0]}
            self._replaced = {wanted: until for wanted, until in self._replaced.items() if now < until}
        for wanted in [wanted for wanted, session in held if session.due(now)]:
            with self._lock:
                self._tend(wanted, now)

    async def _landed(self, flight: "Future[Credentials]") -> Credentials:
        return await wait_for_result(flight, self._pace.patience)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _find(self, wanted: SessionSpec) -> "Credentials | Future[Credentials]":
        now = self._clock()
        held = self._held.get(wanted)
        if held is None or now >= held.good_until:
            return self._flights.get(wanted) or self._fetch_anew(wanted, now)
        held.used = True
        self._held.move_to_end(wanted)
        if held.due(now):
            self._renew(wanted, now)
        return held.credentials

    def _find_other(self, wanted: SessionSpec, refused: Credentials) -> "Credentials | Future[Credentials] | None":
        now = self._clock()
        held = self._held.get(wanted)
        if held is None or held.credentials != refused:
            return self._find(wanted)
        if flight := self._flights.get(wanted):
            return flight
        if now < self._replaced.get(wanted, now) or not self._budget.try_take(1.0, now):
            return None
        self._replaced[wanted] = now + self._pace.replacement
        return self._start(wanted, now)

    def _fetch_anew(self, wanted: SessionSpec, now: float) -> "Future[Credentials]":
        self._held.pop(wanted, None)
        self._recall_refusal(wanted, now)
        if not self._budget.try_take(1.0, now):
            self.counts["throttled"] += 1
            raise SessionThrottled("the budget for calls of STS is used up", self._budget.seconds_until(1.0, now))
        return self._start(wanted, now)

    def _recall_refusal(self, wanted: SessionSpec, now: float) -> None:
        if wanted in self._refused and now < self._refused[wanted][0]:
            raise self._refused[wanted][1].with_traceback(None)

    def _tend(self, wanted: SessionSpec, now: float) -> None:
        held = self._held.get(wanted)
        if held and now >= held.good_until:
            del self._held[wanted]
        elif held and held.due(now):
            self._renew(wanted, now)

    def _renew(self, wanted: SessionSpec, now: float) -> None:
        """Beyond the budget it stays due, and whoever comes next tries again."""
        if wanted not in self._flights and self._budget.try_take(1.0, now, use_reserve=True):
            self._start(wanted, now)

    def _start(self, wanted: SessionSpec, now: float) -> "Future[Credentials]":
        try:
            flight = self._threads.submit(self._fetch, wanted, now + self._pace.patience)
        except RuntimeError as ended:
            raise SessionUnavailable("vending has ended") from ended
        self._flights[wanted] = flight
        return flight

    def _fetch(self, wanted: SessionSpec, deadline: float) -> Credentials:
        """A session's life is counted from before STS was asked, by our own clock: no skew makes it longer."""
        asked_at = self._clock()
        try:
            credentials = self._asked(wanted, late=asked_at > deadline)
        except BaseException as error:
            self._land(wanted, partial(self._failed, wanted, error))
            _tell(wanted, error)
            raise
        self._land(wanted, partial(self._succeeded, wanted, credentials, asked_at))
        return credentials

    def _land(self, wanted: SessionSpec, outcome: Callable[[], None]) -> None:
        """Whatever comes of it, the flight is over: those who come later must not wait for it."""
        with self._lock:
            try:
                outcome()
            finally:
                del self._flights[wanted]
                self._forgotten.discard(wanted)

    def _asked(self, wanted: SessionSpec, *, late: bool) -> Credentials:
        """A fetch whose turn comes when its callers are gone is not made, so that none is left over after an outage."""
        if late:
            raise SessionUnavailable("too many sessions were waiting for STS")
        try:
            return self._assume(wanted, self._pace.session)
        except StsConnectionLost:
            with self._lock:
                affordable = self._budget.try_take(1.0, self._clock())
            if not affordable:
                raise
        return self._assume(wanted, self._pace.session)

    def _succeeded(self, wanted: SessionSpec, credentials: Credentials, asked_at: float) -> None:
        renewed = wanted in self._held
        self.counts["renewed" if renewed else "issued"] += 1
        if wanted in self._forgotten:
            return
        self._held[wanted] = CachedSession(
            credentials=credentials,
            good_until=asked_at + self._pace.session - self._pace.margin,
            renew_at=asked_at + self._pace.renewal(self._chance()),
            used=not renewed,
        )
        if len(self._held) > self._largest:
            self._held.popitem(last=False)

    def _failed(self, wanted: SessionSpec, error: BaseException) -> None:
        self.counts["failed"] += 1
        now = self._clock()
        if held := self._held.get(wanted):
            held.failures += 1
            held.renew_at = now + self._pace.pause(held.failures, self._chance())
        refusal = (
            error if isinstance(error, SessionUnavailable) else SessionUnavailable(f"{type(error).__name__}: {error}")
        )
        self._refused[wanted] = (now + self._pace.refusal, refusal)


def _tell(wanted: SessionSpec, error: BaseException) -> None:
    """A log that cannot be written changes nothing for those who wait."""
    with suppress(Exception):
        log.error(
            "session_unavailable", role=wanted.role, tenant=wanted.tenant, profile=wanted.profile, reason=str(error)
        )
