"""Who is at work: a process that can be told from every other."""

import os
import socket

from ulid import ULID


def this_worker() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{ULID()}"


def has_ended(worker: str) -> bool:
    """Whether it was a process of this machine that is no more: nobody needs to wait for its lease."""
    host, _, rest = worker.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
