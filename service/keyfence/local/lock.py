"""A lock file: one engine at a time on one data directory."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from keyfence.local.engines.engine import EngineBusy

FILE = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Held until released and until every child that inherited `descriptor` has ended."""

    descriptor: int

    def name(self, engine: int) -> None:
        """Write down who holds the data, for the next one who asks: ourselves, and the engine should it outlive us."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"process {os.getpid()} and its engine, process {engine}".encode(), 0)

    def release(self) -> None:
        os.close(self.descriptor)


def lock(directory: Path) -> Lock:
    descriptor = os.open(directory / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 100, 0).decode(errors="replace")
        os.close(descriptor)
        raise EngineBusy(_sentence(directory, holder)) from error
    return Lock(descriptor=descriptor)


def _sentence(directory: Path, holder: str) -> str:
    by = f" by {holder}" if holder else ""
    return f"The data in {directory} is already in use{by}: end that, or name another directory with --data."
