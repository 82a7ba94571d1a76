"""The dynoxide engine: a child process that keeps its data in a directory. Only one process can use the directory."""

import contextlib
import ctypes
import fcntl
import http.client
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.local.engines.engine import EngineBusy, EngineFailed, EngineMissing, OnProgress

HOST = "127.0.0.1"
DATABASE_FILE = "keyfence.db"
LOG_FILE = "dynoxide.log"
LOCK_FILE = "lock"
READY_WORD = "listening"
"""The word in the log that says that dynoxide is ready."""
START_SECONDS = 15
STOP_SECONDS = 5
"""How long dynoxide may take to end after SIGTERM, before it is killed."""
PR_SET_PDEATHSIG = 1
"""The option of prctl(2) that sets the signal which a process gets when its parent dies."""
PRIVATE_UMASK = 0o077
"""With this umask, only the owner can read and write the files that dynoxide creates, such as its database."""
TAIL_LINES = 5
"""How many lines of the log an error message contains."""
STREAM_RETENTION_SECONDS = 24 * 60 * 60
"""DynamoDB keeps the records of a stream for 24 hours. dynoxide itself never deletes them."""
DATABASE_LOCK_SECONDS = 10.0
"""How long to wait while dynoxide writes to its database."""

_CREATE_INDEX = """CREATE INDEX IF NOT EXISTS keyfence_stream_position
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER))"""
_DELETE_OLD_RECORDS = """DELETE FROM _stream_records
    WHERE created_at < ? AND id NOT IN (SELECT MAX(id) FROM _stream_records GROUP BY table_name)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock on a directory.

    It is held until `release` was called and every child process that inherited `descriptor` has ended.
    """

    descriptor: int

    def write_owner(self, engine_pid: int) -> None:
        """Writes the ids of this process and the engine into the lock file, for error messages of other processes."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"process {os.getpid()} and its engine, process {engine_pid}".encode(), 0)

    def release(self) -> None:
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dynoxide:
    """A running dynoxide. It inherits the lock of its directory, so the lock is held while dynoxide runs."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    lock: Lock
    name: str = "dynoxide"
    is_persistent: bool = True

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def failure(self) -> str | None:
        code = self.process.poll()
        return None if code is None else f"dynoxide stopped with exit code {code}: {_log_tail(self.log)}"

    def stop(self) -> None:
        try:
            _stop_process(self.process)
        finally:
            self.lock.release()


def start(directory: Path, on_progress: OnProgress, binary: Path | None = None) -> Dynoxide:
    """Locks the directory and starts dynoxide on it. Fetches the dynoxide binary first if it is missing.

    Raises EngineBusy if another process has locked the directory.
    """
    lock = lock_directory(directory)
    try:
        program = binary or find_or_fetch(directory, on_progress)
        on_progress("starting dynoxide")
        return _launch(program, directory, lock)
    except BaseException:
        lock.release()
        raise


def lock_directory(directory: Path) -> Lock:
    """Locks the directory. If it is already locked, raises EngineBusy, and the message names the owner of the lock."""
    descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.pread(descriptor, 100, 0).decode(errors="replace")
        os.close(descriptor)
        by_owner = f" by {owner}" if owner else ""
        advice = "stop that process, or choose another directory with --data"
        raise EngineBusy(f"The data in {directory} is already in use{by_owner}: {advice}.") from error
    return Lock(descriptor=descriptor)


def _launch(binary: Path, directory: Path, lock: Lock, attempts: int = 3) -> Dynoxide:
    """Starts the process on a free port. If another program takes the port first, tries another port."""
    port = _free_port()
    log = directory / LOG_FILE
    engine = Dynoxide(process=_spawn(binary, directory, port, lock), port=port, log=log, lock=lock)
    try:
        lock.write_owner(engine.process.pid)
        _wait_until_ready(engine)
        _maintain_stream_records(directory / DATABASE_FILE)
    except BaseException as error:
        _stop_process(engine.process)
        if attempts > 1 and isinstance(error, EngineFailed) and "already in use" in error.message:
            return _launch(binary, directory, lock, attempts - 1)
        raise
    return engine


def _spawn(binary: Path, directory: Path, port: int, lock: Lock) -> subprocess.Popen[bytes]:
    """Starts the process in its own session (setsid).

    So Ctrl-C does not stop the engine, and the service can stop before the engine.
    """
    command = [str(binary), "serve", "--host", HOST, "--port", str(port), "--db-path", str(directory / DATABASE_FILE)]
    try:
        with _open_log(directory / LOG_FILE) as log:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - no other thread runs yet
                pass_fds=(lock.descriptor,),
                umask=PRIVATE_UMASK,
            )
    except OSError as error:
        raise EngineMissing(f"{binary} cannot be run: {error.strerror or error}.") from error


def _open_log(path: Path) -> BinaryIO:
    """Empties the log, or creates it. Only the owner can read it, also if it was created with another mode."""
    log = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
    os.fchmod(log.fileno(), 0o600)
    return log


def _end_with_parent() -> None:
    """Makes Linux stop the engine when the process that started it dies. Runs in the engine's process.

    On other systems the engine keeps running and holds the lock, so no other process can use the directory.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait_until_ready(engine: Dynoxide) -> None:
    """Waits until the log says that dynoxide listens, and the port answers.

    The port alone is not enough, because another program could have taken it.
    """
    deadline = time.monotonic() + START_SECONDS
    while not (READY_WORD in engine.log.read_text(errors="replace") and _answers(engine.port)):
        if failure := engine.failure():
            raise EngineFailed(failure)
        if time.monotonic() > deadline:
            raise EngineFailed(f"dynoxide did not answer within {START_SECONDS} seconds: {_log_tail(engine.log)}")
        time.sleep(0.02)


def _answers(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=1)) as connection:
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False


def _maintain_stream_records(database: Path) -> None:
    """Adds an index to the stream records in the SQLite database of dynoxide, and deletes the expired records.

    At every write to a table with a stream, dynoxide searches for the table's highest sequence number. Without the
    index it reads all records: after 30,000 writes, a write takes ten times as long. The last record of each table is
    not deleted, because dynoxide computes the next sequence number from it.
    """
    with contextlib.closing(sqlite3.connect(database, timeout=DATABASE_LOCK_SECONDS)) as connection, connection:
        connection.execute(_CREATE_INDEX)
        connection.execute(_DELETE_OLD_RECORDS, (int(time.time()) - STREAM_RETENTION_SECONDS,))


def _stop_process(process: subprocess.Popen[bytes]) -> None:
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


def _log_tail(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").split("\n")]
    last_lines = [line for line in lines if line][-TAIL_LINES:]
    return " ".join(last_lines) or "its log is empty"
