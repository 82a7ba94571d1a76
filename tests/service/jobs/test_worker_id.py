"""The id of a worker shows whether its process, on this machine, has ended."""

import socket
import subprocess
import sys

from keyfence.jobs.worker_id import is_dead_local_worker, new_worker_id


def test_a_worker_of_this_process_is_not_dead() -> None:
    assert not is_dead_local_worker(new_worker_id())
    assert new_worker_id() != new_worker_id()


def test_a_worker_of_an_ended_process_of_this_machine_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert is_dead_local_worker(f"{socket.gethostname()}:{process.pid}:01M7HHHGKHN6S6V7032B0W8CKZ")


def test_a_worker_of_another_machine_or_with_a_malformed_id_does_not_count_as_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    for worker in ("", "somebody", f"elsewhere.example:{process.pid}:x", f"{socket.gethostname()}:x:y"):
        assert not is_dead_local_worker(worker)
