"""Every shell block of the README and the quickstart runs, in order, in a copy of the project without a .venv."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, README, ROOT, blocks

PAGES = (README, DOCS / "start" / "quickstart.md")
READY_LINE = "Press Ctrl-C to stop."
TIMEOUT_SECONDS = 300
"""Enough to install the project on a slow machine."""
OMITTED_LINES = ("uv run pytest", ".uv/bin/uv run keyfence dev ")
"""Lines with these texts are not run: one starts all tests, the other starts the same server a second time."""


@dataclass(frozen=True)
class Project:
    """A copy of the project in which `keyfence dev` runs, on ports that are not the default."""

    folder: Path
    port: int
    gate_port: int

    def adapt(self, code: str) -> str:
        """Returns a block without omitted lines, with the ports of this copy."""
        lines = [line for line in code.splitlines() if not any(text in line for text in OMITTED_LINES)]
        return "\n".join(lines).replace(":8000", f":{self.port}").replace(":8001", f":{self.gate_port}")

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        """Runs a block in bash. uv is on the PATH, where the first block of the README has installed it."""
        script = f'set -e\nexport PATH="$PWD/.uv/bin:$PATH"\n{self.adapt(code)}'
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("clone") / "keyfence"
    _copy_tracked_files(folder)
    copy = Project(folder, port=_free_port(), gate_port=_free_port())
    first = blocks(README, "sh")[0].strip()
    assert first.endswith("keyfence dev")
    command = f"{first} --port {copy.port} --gate-port {copy.gate_port}"
    with subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as server:
        try:
            _wait_until_ready(server)
            yield copy
        finally:
            os.killpg(server.pid, signal.SIGINT)


@pytest.mark.full("installs the project into a new environment and starts it")
def test_every_block_runs_in_its_order_and_the_read_of_another_tenant_is_denied(project: Project) -> None:
    proof, *others = [code for page in PAGES for code in blocks(page, "sh")][1:]
    denied = project.run(proof)
    (message,) = [text for text in blocks(README, "text") if "AccessDenied" in text]
    assert denied.returncode == 1
    assert denied.stdout.strip()
    assert denied.stderr.rstrip().endswith(message.strip())
    for code in others:
        result = project.run(code)
        assert result.returncode == 0, f"{code}\n{result.stdout}\n{result.stderr}"
        assert '"errors"' not in result.stdout, f"{code}\n{result.stdout}"


def _wait_until_ready(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    output = []
    for line in server.stdout:
        output.append(line)
        if READY_LINE in line:
            return
    raise AssertionError(f"keyfence dev ended: {''.join(output)}")


def _copy_tracked_files(folder: Path) -> None:
    file_names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, file_names.split("\0")):
        if (source := ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(source.read_bytes())


def _environment() -> dict[str, str]:
    """Returns the environment variables without those of Keyfence and of a virtual environment."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "KEYFENCE_"))}
    return variables | {"UV_PYTHON_DOWNLOADS": "never"}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
