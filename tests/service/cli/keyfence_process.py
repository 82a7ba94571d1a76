"""keyfence with the fake application, in a process of its own."""

import json
import os
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 60


class RunningCommand:
    """A running process and the lines that it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []

    def read_until(self, text: str) -> None:
        """Reads lines of stdout up to the first that contains the text."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if text in line:
                return
        raise AssertionError(f"it ended without printing {text!r}: {self.lines}")

    def end(self, signal: int | None = None) -> tuple[int, str]:
        """Sends a signal and returns the exit code and all of stderr."""
        if signal is not None:
            self.process.send_signal(signal)
        _, output = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, output


@contextmanager
def running(*arguments: str, **environment: str) -> Iterator[RunningCommand]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.service.cli.fake_app", *arguments],
        env=os.environ | environment,
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield RunningCommand(process)
        finally:
            process.kill()


def send_curl(curl: str) -> dict[str, Any]:
    """Sends the request of a printed curl command."""
    program, _, url, _, authorization, _, content_type, _, body = shlex.split(curl)
    assert program == "curl"
    headers = dict(header.split(": ", 1) for header in (authorization, content_type))
    request = urllib.request.Request(url, body.encode(), headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        answer: dict[str, Any] = json.load(response)
    return answer
