"""STS with scripted behaviour, and a session cache on it with a manual clock."""

import itertools
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from keyfence_iam.credentials import Credentials
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import SessionSpec, SessionUnavailable, tenant_session
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock

WAIT_SECONDS = 60.0


@dataclass(slots=True)
class ScriptedSts:
    """Returns a new session for each request. A test can make it fail, or wait until `may_answer` is set."""

    requests: list[SessionSpec] = field(default_factory=list)
    requested_seconds: list[int] = field(default_factory=list)
    failure: Exception | None = None
    may_answer: Event = field(default_factory=Event)
    before_answering: Callable[[], None] = lambda: None
    _numbers: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def __call__(self, spec: SessionSpec, session_seconds: int) -> Credentials:
        self.requests.append(spec)
        self.requested_seconds.append(session_seconds)
        assert self.may_answer.wait(WAIT_SECONDS)
        self.before_answering()
        if self.failure:
            raise self.failure
        return Credentials(f"{spec.role}/{spec.tenant}/{spec.scope}/{next(self._numbers)}", "secret", "token")

    def fail(self) -> None:
        self.failure = SessionUnavailable("STS cannot be reached")

    def recover(self) -> None:
        self.failure = None


@dataclass(slots=True)
class SessionCacheFixture:
    """A session cache with its clock and its STS."""

    sessions: SessionCache
    clock: ManualClock
    sts: ScriptedSts

    async def use(self, spec: SessionSpec) -> str:
        """Returns the access key of the session that the cache hands out."""
        return (await self.sessions.credentials(spec)).access_key

    def wait_for_sts(self) -> None:
        """Waits until all requests to STS have ended."""
        wait(list(self.sessions._pending.values()), WAIT_SECONDS)

    def advance(self, seconds: float, step: float = 5.0) -> None:
        """Moves the clock in steps, and refreshes due sessions after each step, as the background thread does."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now = min(end, self.clock.now + step)
            self.sessions.refresh_due_sessions()
            self.wait_for_sts()


def session_cache(**options: Any) -> SessionCacheFixture:
    clock, sts = ManualClock(), ScriptedSts()
    arguments: dict[str, Any] = {"clock": clock, "random_number": lambda: 1.0, **options}
    return SessionCacheFixture(SessionCache(sts, **arguments), clock, sts)


def reads(tenant: str) -> SessionSpec:
    return tenant_session(TenantId(tenant), may_write=False)


def writes(tenant: str) -> SessionSpec:
    return tenant_session(TenantId(tenant), may_write=True)
