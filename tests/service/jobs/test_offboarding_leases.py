"""A lease is worth as long as its process may live."""

import socket
import subprocess
import sys

from keyfence.jobs.worker_id import is_dead_local_worker, new_worker_id


def test_a_process_that_runs_has_not_ended() -> None:
    assert not is_dead_local_worker(new_worker_id())
    assert new_worker_id() != new_worker_id()


def test_a_process_of_this_machine_that_is_gone_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert is_dead_local_worker(f"{socket.gethostname()}:{process.pid}:01M7HHHGKHN6S6V7032B0W8CKZ")


def test_of_nobody_else_is_it_known() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    for worker in ("", "somebody", f"elsewhere.example:{process.pid}:x", f"{socket.gethostname()}:x:y"):
        assert not is_dead_local_worker(worker)
