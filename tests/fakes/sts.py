"""An STS that is told what to do, and a vending over it whose clock stands still until it is moved."""

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
    """Gives a new session each time; it can be down, and it can be held back."""

    requests: list[SessionSpec] = field(default_factory=list)
    seconds: list[int] = field(default_factory=list)
    failure: Exception | None = None
    open: Event = field(default_factory=Event)
    before_answering: Callable[[], None] = lambda: None
    _numbers: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.open.set()

    def __call__(self, wanted: SessionSpec, seconds: int) -> Credentials:
        self.requests.append(wanted)
        self.seconds.append(seconds)
        assert self.open.wait(WAIT_SECONDS)
        self.before_answering()
        if self.failure:
            raise self.failure
        return Credentials(f"{wanted.role}/{wanted.tenant}/{wanted.scope}/{next(self._numbers)}", "secret", "token")

    def fail(self) -> None:
        self.failure = SessionUnavailable("STS cannot be reached")

    def recover(self) -> None:
        self.failure = None


@dataclass(slots=True)
class SessionCacheFixture:
    """A vending, the clock it reads and the STS it asks."""

    sessions: SessionCache
    clock: ManualClock
    sts: ScriptedSts

    async def use(self, wanted: SessionSpec) -> str:
        """The access key that is handed out."""
        return (await self.sessions.credentials(wanted)).access_key

    def settle(self) -> None:
        """Until everything that is under way has landed."""
        wait(list(self.sessions._pending.values()), WAIT_SECONDS)

    def advance(self, seconds: float, step: float = 5.0) -> None:
        """With a sweep at each step, as the thread would do it."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now = min(end, self.clock.now + step)
            self.sessions.refresh_due()
            self.settle()


def session_cache(**given: Any) -> SessionCacheFixture:
    clock, sts = ManualClock(), ScriptedSts()
    options: dict[str, Any] = {"clock": clock, "random_share": lambda: 1.0, **given}
    return SessionCacheFixture(SessionCache(sts, **options), clock, sts)


def reads(tenant: str) -> SessionSpec:
    return tenant_session(TenantId(tenant), writes=False)


def writes(tenant: str) -> SessionSpec:
    return tenant_session(TenantId(tenant), writes=True)
