"""`RefreshSchedule`: decides when sessions are refreshed. `RefreshThread`: refreshes them in the background."""

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
"""How often the thread looks for due sessions. The interval is short compared to the lifetime of a session."""

T = TypeVar("T")

log = structlog.get_logger(__name__)

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that never stops. On Linux, CLOCK_MONOTONIC stops while the machine is suspended, CLOCK_BOOTTIME does not.
macOS has no CLOCK_BOOTTIME, and its CLOCK_MONOTONIC does not stop.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshSchedule:
    """The lifetime of sessions, and when they are refreshed, retried and replaced.

    With the defaults, a session in use is valid for at least five more minutes when an outage of STS begins.
    """

    session_seconds: int = 900
    expiry_margin_seconds: float = 15.0
    """A session that expires within this time is not given out, because a call must arrive before the session ends."""
    earliest_refresh_share: float = 0.5
    latest_refresh_share: float = 0.6
    """A session is refreshed at a random time between these two shares of its lifetime."""
    first_retry_seconds: float = 1.0
    longest_retry_seconds: float = 30.0
    """The first and the longest delay before a failed refresh is tried again. Each failure doubles the delay."""
    failure_cache_seconds: float = 1.0
    """After a failure, callers get the same error for this long, without another call to STS."""
    replacement_interval_seconds: float = 30.0
    """A denied session is replaced at most once in this time."""
    max_wait_seconds: float = 5.0
    """How long a caller waits for a session, and how long a call to STS waits for a free thread."""

    def refresh_delay_seconds(self, random_number: float) -> float:
        """Returns how many seconds after its request a session is refreshed. `random_number` is from 0 to 1."""
        share = self.earliest_refresh_share + random_number * (self.latest_refresh_share - self.earliest_refresh_share)
        return self.session_seconds * share

    def retry_delay_seconds(self, failures: int, random_number: float) -> float:
        """Returns the delay before a failed refresh is tried again. `failures` counts failures in a row, from 1.

        Half of the delay is random, so that processes that failed at the same time do not retry at the same time.
        """
        longest_delay = min(self.longest_retry_seconds, self.first_retry_seconds * 2.0 ** (failures - 1))
        return longest_delay * (1.0 + random_number) / 2.0


class RefreshThread:
    """A daemon thread that runs a task again and again, at an interval, until `stop` is called.

    If the task fails, the error is logged, and the task runs again after the interval.
    """

    def __init__(self, task: Callable[[], None], interval_seconds: float = REFRESH_INTERVAL_SECONDS) -> None:
        self._task = task
        self._interval_seconds = interval_seconds
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="sessions", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_seconds):
            try:
                self._task()
            except Exception:
                log.exception("session_refresh_failed")


def boottime() -> float:
    """Returns the seconds of a clock that also advances while the machine is suspended."""
    return time.clock_gettime(_BOOT_CLOCK)


async def wait_for_result(future: "Future[T]", timeout_seconds: float) -> T:
    """Waits in an event loop for the future of a thread. Raises SessionUnavailable after a timeout.

    A waiter that is cancelled or times out does not cancel the future, because other waiters may share it.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def wake_waiter(_: object) -> None:
        with suppress(RuntimeError):  # the loop was closed, so no waiter is left
            loop.call_soon_threadsafe(_set_done, done)

    future.add_done_callback(wake_waiter)
    try:
        await asyncio.wait_for(done, timeout_seconds)
        return future.result()
    except TimeoutError:
        raise SessionUnavailable(f"STS has not answered within {timeout_seconds:g} s") from None
    except CancelledError:
        raise SessionUnavailable("the session cache is closed") from None


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
