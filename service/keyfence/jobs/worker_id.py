"""The id of a worker, which names its machine and its process."""

import os
import socket

from ulid import ULID


def new_worker_id() -> str:
    """Returns a new id for a worker in this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{ULID()}"


def is_dead_local_worker(worker: str) -> bool:
    """Tells whether the worker was a process of this machine that has ended.

    Then the next worker need not wait until the lease expires."""
    host, _, process = worker.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)  # signal 0 only checks that the process exists
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
