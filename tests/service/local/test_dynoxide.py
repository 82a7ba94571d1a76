"""dynoxide keeps its data, locks it against other processes, and says why it stopped."""

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfence.local.engines import dynoxide
from keyfence.local.engines.dynoxide import DATABASE_FILE, LOG_FILE, Dynoxide
from keyfence.local.engines.engine import EngineBusy, EngineFailed, EngineMissing
from tests.service.local.conftest import Start, quiet
from tests.service.local.engine_tables import create_table, tables

COMMON_UMASK = 0o022
"""With this umask, others can read the files that a program creates."""


@pytest.fixture
def common_umask() -> Iterator[None]:
    previous = os.umask(COMMON_UMASK)
    yield
    os.umask(previous)


def test_a_started_engine_answers_and_is_persistent(engine: Dynoxide) -> None:
    assert tables(engine.url) == []
    assert (engine.name, engine.is_persistent, engine.failure()) == ("dynoxide", True, None)


def test_data_survives_a_restart(engine: Dynoxide, start: Start, tmp_path: Path) -> None:
    create_table(engine.url, "kept")
    engine.stop()
    assert tables(start(tmp_path).url) == ["kept"]


@pytest.mark.parametrize("previous_mode", [None, 0o644], ids=["new log", "log of an earlier run"])
def test_every_file_of_the_engine_is_private(
    start: Start, tmp_path: Path, common_umask: None, previous_mode: int | None
) -> None:
    if previous_mode is not None:
        (tmp_path / LOG_FILE).touch()
        (tmp_path / LOG_FILE).chmod(previous_mode)
    engine = start(tmp_path)
    create_table(engine.url, "written")
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.iterdir()}
    assert {DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", LOG_FILE} <= modes.keys()
    assert modes == dict.fromkeys(modes, "0o600")


def test_the_umask_of_the_command_stays_as_it_is(engine: Dynoxide, common_umask: None) -> None:
    assert os.umask(COMMON_UMASK) == COMMON_UMASK


def test_stopping_ends_the_process(engine: Dynoxide) -> None:
    engine.stop()
    assert engine.process.returncode == 0


def test_ctrl_c_does_not_reach_the_engine(engine: Dynoxide) -> None:
    assert os.getsid(engine.process.pid) != os.getsid(0)


def test_a_second_engine_on_the_same_data_is_refused(engine: Dynoxide, start: Start, tmp_path: Path) -> None:
    with pytest.raises(EngineBusy, match=rf"already in use by process {os.getpid()} and .* {engine.process.pid}:"):
        start(tmp_path)
    assert tables(engine.url) == []


def test_an_engine_without_its_parent_still_holds_the_lock(engine: Dynoxide, start: Start, tmp_path: Path) -> None:
    """If the command is killed, the descriptor of the command is closed, and the engine keeps running."""
    engine.lock.release()
    try:
        with pytest.raises(EngineBusy, match=str(engine.process.pid)):
            start(tmp_path)
    finally:
        engine.process.terminate()
        engine.process.wait()


def test_the_failure_of_a_killed_engine_has_its_exit_code(engine: Dynoxide) -> None:
    engine.process.send_signal(signal.SIGKILL)
    engine.process.wait()
    assert str(engine.failure()).startswith("dynoxide stopped with exit code -9: Dynoxide listening")
    engine.stop()


def test_a_broken_database_is_reported_and_leaves_no_lock(start: Start, tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_text("not a database at all, not even nearly")
    for _ in range(2):
        with pytest.raises(EngineFailed, match="not a valid SQLite database"):
            start(tmp_path)


def test_a_binary_that_cannot_run_counts_as_missing(tmp_path: Path) -> None:
    program = tmp_path / "dynoxide"
    program.write_bytes(os.urandom(64))
    program.chmod(0o755)
    with pytest.raises(EngineMissing, match="cannot be run"):
        dynoxide.start(tmp_path, quiet, program)


def test_a_binary_that_never_answers_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_processes: list[subprocess.Popen[bytes]] = []
    stop_process = dynoxide._stop_process

    def record(process: subprocess.Popen[bytes]) -> None:
        stop_process(process)
        stopped_processes.append(process)

    monkeypatch.setattr(dynoxide, "START_SECONDS", 0.1)
    monkeypatch.setattr(dynoxide, "_stop_process", record)
    program = tmp_path / "dynoxide"
    program.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    program.chmod(0o755)
    with pytest.raises(EngineFailed, match="did not answer"):
        dynoxide.start(tmp_path, quiet, program)
    assert [process.returncode for process in stopped_processes] == [-signal.SIGTERM]


def test_another_port_is_tried_if_the_first_is_taken(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = start(tmp_path / "other")
    ports = iter([other.port, dynoxide._free_port()])
    monkeypatch.setattr(dynoxide, "_free_port", lambda: next(ports))
    engine = start(tmp_path / "this")
    assert engine.port != other.port
    assert tables(engine.url) == []
