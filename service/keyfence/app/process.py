"""A process that serves, once it has started: nothing of it should stop all requests for the sake of one."""

import gc
import sys

SWITCH_SECONDS = 0.001
"""How long a thread that works on one answer keeps the loop waiting that all answers need; Python's own is five times
as long, and a request waits for it several times."""


def tune_process() -> None:
    """What was made at the start stays until the end, since to look through it again would stop every request for a
    tenth of a second; and threads hand over soon."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)
