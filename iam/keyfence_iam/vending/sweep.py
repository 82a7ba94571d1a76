"""The thread that renews sessions which nobody is asking for at the moment."""

from collections.abc import Callable
from threading import Event, Thread

import structlog

EVERY_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Sweep:
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
                log.exception("sweep_failed")
