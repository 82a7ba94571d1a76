"""The child process and its lock file."""

import contextlib
import ctypes
import fcntl
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.local.engines.engine import EngineBusy, EngineFailed, EngineMissing, Progress

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


HOST = "127.0.0.1"
DATABASE = "keyfence.db"
LOG = "dynoxide.log"
LISTENING = "listening"
START_SECONDS = 15
STOP_SECONDS = 5
PR_SET_PDEATHSIG = 1
TAIL_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Dynoxide:
    """A running dynoxide; it holds the directory's lock for as long as it lives, even if we do not."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    lock: Lock
    name: str = "dynoxide"
    persistent: bool = True

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def failure(self) -> str | None:
        code = self.process.poll()
        return None if code is None else f"dynoxide ended with exit code {code}: {_tail(self.log)}"

    def stop(self) -> None:
        try:
            _end(self.process)
        finally:
            self.lock.release()


def start(directory: Path, progress: Progress, binary: Path | None = None) -> Dynoxide:
    """Locked before anything else, so that a second one on the same data hears so at once."""
    held = lock(directory)
    try:
        program = binary or find_or_fetch(directory, progress)
        progress("starting dynoxide")
        return _launch(program, directory, held)
    except BaseException:
        held.release()
        raise


def _launch(binary: Path, directory: Path, held: Lock, attempts: int = 3) -> Dynoxide:
    """Somebody else may take the free port before dynoxide does: then another one is tried."""
    port = _free_port()
    log = directory / LOG
    engine = Dynoxide(process=_spawn(binary, directory, port, held), port=port, log=log, lock=held)
    try:
        held.name(engine.process.pid)
        _wait(engine)
    except BaseException as error:
        _end(engine.process)
        if attempts > 1 and isinstance(error, EngineFailed) and "already in use" in error.message:
            return _launch(binary, directory, held, attempts - 1)
        raise
    return engine


def _spawn(binary: Path, directory: Path, port: int, held: Lock) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C reaches us, and we decide when it ends."""
    command = [str(binary), "serve", "--host", HOST, "--port", str(port), "--db-path", str(directory / DATABASE)]
    try:
        with (directory / LOG).open("wb") as log:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - no other thread runs yet when an engine is started
                pass_fds=(held.descriptor,),
            )
    except OSError as error:
        raise EngineMissing(f"{binary} cannot be run: {error.strerror or error}.") from error


def _end_with_parent() -> None:
    """On Linux the kernel ends the engine when we are killed; elsewhere it lives on and its lock names it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait(engine: Dynoxide) -> None:
    """It has said that it listens, and it answers: an answer alone could be of another one that took the port."""
    deadline = time.monotonic() + START_SECONDS
    while not (LISTENING in engine.log.read_text(errors="replace") and _answers(engine.port)):
        if failure := engine.failure():
            raise EngineFailed(failure)
        if time.monotonic() > deadline:
            raise EngineFailed(f"dynoxide did not answer within {START_SECONDS} seconds: {_tail(engine.log)}")
        time.sleep(0.02)


def _answers(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=1)) as connection:
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
    return port


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return " ".join([line.strip() for line in lines if line.strip()][-TAIL_LINES:]) or "it said nothing"
