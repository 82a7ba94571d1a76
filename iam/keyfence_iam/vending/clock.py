"""A clock that nobody sets and that goes on while the machine sleeps, as a session's life does."""

import time

_AWAKE_OR_NOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's monotonic clock stands still in a suspended machine, that of macOS does not."""


def elapsed() -> float:
    return time.clock_gettime(_AWAKE_OR_NOT)
