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


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshSchedule:
    """All in seconds, but for the shares of a session's life between which it is renewed.

    With these numbers a session in use has more than five minutes to go when an outage of STS begins.
    """

    session: int = 900
    margin: float = 15.0
    """A session that ends sooner than this is not handed out: the call has to arrive while it is good."""
    earliest_renewal: float = 0.5
    latest_renewal: float = 0.6
    first_pause: float = 1.0
    longest_pause: float = 30.0
    refusal: float = 1.0
    """How long a session that could not be had is not asked for again."""
    replacement: float = 30.0
    """How long after a session was replaced because it was refused, no refusal has its successor replaced."""
    patience: float = 5.0
    """How long a caller waits for a session, and a fetch for its turn."""

    def renewal(self, chance: float) -> float:
        share = self.earliest_renewal + chance * (self.latest_renewal - self.earliest_renewal)
        return self.session * share

    def pause(self, failures: int, chance: float) -> float:
        """Half of it is left to chance, so that processes which failed together do not come back together."""
        whole = min(self.longest_pause, self.first_pause * 2.0 ** (failures - 1))
        return whole * (1.0 + chance) / 2.0


EVERY_SECONDS = 5.0

log = structlog.get_logger(__name__)


class RefreshThread:
    """Does its work again and again until it is stopped, also after a round that failed; it keeps no process alive."""

    def __init__(self, work: Callable[[], None], every: float = EVERY_SECONDS) -> None:
        self._work = work
        self._every = every
        self._ended = Event()
        self._thread = Thread(target=self._run, name="sessions", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._every):
            try:
                self._work()
            except Exception:
                log.exception("session_refresh_failed")


_AWAKE_OR_NOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's monotonic clock stands still in a suspended machine, that of macOS does not."""


def boottime() -> float:
    return time.clock_gettime(_AWAKE_OR_NOT)


T = TypeVar("T")


async def wait_for_result(flight: "Future[T]", seconds: float) -> T:
    """The result of the flight; a waiter who is cancelled or loses patience leaves it to the others."""
    loop = asyncio.get_running_loop()
    arrival: asyncio.Future[None] = loop.create_future()

    def wake(_: object) -> None:
        with suppress(RuntimeError):  # a loop that was closed meanwhile has nobody who waits
            loop.call_soon_threadsafe(_arrive, arrival)

    flight.add_done_callback(wake)
    try:
        await asyncio.wait_for(arrival, seconds)
        return flight.result()
    except TimeoutError:
        raise SessionUnavailable(f"STS has not answered within {seconds:g} s") from None
    except CancelledError:
        raise SessionUnavailable("vending has ended") from None


def _arrive(arrival: "asyncio.Future[None]") -> None:
    if not arrival.done():
        arrival.set_result(None)
