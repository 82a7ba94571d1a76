"""When sessions are refreshed, and the thread that does it."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import TypeVar

import structlog

from keyfence_iam.sts.session_spec import SessionUnavailable

REFRESH_INTERVAL_SECONDS = 5.0

T = TypeVar("T")

log = structlog.get_logger(__name__)

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's monotonic clock stops while the machine is suspended; that of macOS does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshSchedule:
    """All times are in seconds. `earliest_refresh` and `latest_refresh` are shares of a session's lifetime.

    With the defaults, a session in use is valid for more than five minutes when an outage of STS begins.
    """

    session_seconds: int = 900
    expiry_margin: float = 15.0
    """A session that expires sooner than this is not given out: the call must arrive while the session is valid."""
    earliest_refresh: float = 0.5
    latest_refresh: float = 0.6
    first_retry_after: float = 1.0
    longest_retry_after: float = 30.0
    failure_memory: float = 1.0
    """After a failure, callers get the same error for this long, without another call to STS."""
    replacement_interval: float = 30.0
    """A denied session is replaced at most once in this time."""
    max_wait: float = 5.0
    """How long a caller waits for a session, and how long a call to STS waits for a free thread."""

    def refresh_after(self, random_share: float) -> float:
        share = self.earliest_refresh + random_share * (self.latest_refresh - self.earliest_refresh)
        return self.session_seconds * share

    def retry_after(self, failures: int, random_share: float) -> float:
        """Doubles with each failure. Half of it is random, so that processes that failed together retry apart."""
        longest = min(self.longest_retry_after, self.first_retry_after * 2.0 ** (failures - 1))
        return longest * (1.0 + random_share) / 2.0


class RefreshThread:
    """Runs a task at an interval until it is stopped, also after a run that failed. A daemon thread."""

    def __init__(self, task: Callable[[], None], interval: float = REFRESH_INTERVAL_SECONDS) -> None:
        self._task = task
        self._interval = interval
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="sessions", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._task()
            except Exception:
                log.exception("session_refresh_failed")


def boottime() -> float:
    """Seconds on a clock that also advances while the machine is suspended."""
    return time.clock_gettime(_BOOT_CLOCK)


async def wait_for_result(future: "Future[T]", seconds: float) -> T:
    """Returns the result of a thread's future. A waiter that is cancelled or times out does not cancel the future."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def wake(_: object) -> None:
        with suppress(RuntimeError):  # the loop was closed in the meantime: nobody waits
            loop.call_soon_threadsafe(_set_done, done)

    future.add_done_callback(wake)
    try:
        await asyncio.wait_for(done, seconds)
        return future.result()
    except TimeoutError:
        raise SessionUnavailable(f"STS has not answered within {seconds:g} s") from None
    except CancelledError:
        raise SessionUnavailable("the session cache is closed") from None


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
