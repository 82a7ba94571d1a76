"""A lease is worth as long as its process may live."""

import os
import socket
import subprocess
import sys

import pytest

from service.operations.offboarding.jobs import has_ended, this_worker


def test_a_process_that_runs_has_not_ended() -> None:
    assert not has_ended(this_worker())
    assert this_worker() != this_worker()


def test_a_process_of_this_machine_that_is_gone_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert has_ended(f"{socket.gethostname()}:{process.pid}:01M7HHHGKHN6S6V7032B0W8CKZ")


@pytest.mark.parametrize(
    "worker", ["", "somebody", f"elsewhere.example:{os.getpid() + 1}:x", f"{socket.gethostname()}:x:y"]
)
def test_of_nobody_else_is_it_known(worker: str) -> None:
    assert not has_ended(worker)
