"""Builds both wheels, installs them into an empty environment, and asks `keyfence dev` a question there.

    uv run --no-sync python .ci/check_wheels.py

The environment cannot import from the project's folders. So a file that a wheel lacks is missing here, as it would be
for a user. Prints the reason and exits with 1 if a file is missing, if the command does not start, or if it answers
with an error."""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from itertools import pairwise
from pathlib import Path

PROJECT = Path(__file__).parents[1]
REQUIRED_FILES = {
    "keyfence": {"keyfence/py.typed", "keyfence/access_patterns/measured.json"},
    "keyfence_iam": {"keyfence_iam/py.typed"},
}
REQUIRED_METADATA = (
    "License-Expression: Apache-2.0",
    "Description-Content-Type: text/markdown",
    "Requires-Python: >=3.11",
)
LAST_LINE_OF_START = "Press Ctrl-C to stop."
MAX_START_SECONDS, MAX_STOP_SECONDS = 120, 20


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="keyfence-wheels-") as directory:
        folder = Path(directory)
        wheels = build(folder / "dist")
        for name, wheel in wheels.items():
            check_content(name, wheel)
        program = install(wheels, folder)
        tenant = ask_demo_tenant(program, folder)
    print(f"Both wheels are complete. keyfence dev, installed from them, answered for the tenant {tenant}.")


def build(folder: Path) -> dict[str, Path]:
    """Returns the path of the wheel of each package."""
    run("uv", "build", "--quiet", "--all-packages", "--wheel", "--out-dir", str(folder), cwd=PROJECT)
    wheels = {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}
    if wheels.keys() != REQUIRED_FILES.keys():
        sys.exit(f"expected wheels of {sorted(REQUIRED_FILES)}, found {sorted(wheels)}")
    return wheels


def check_content(name: str, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(path for path in names if path.endswith(".dist-info/METADATA"))).decode()
    tracked = run("git", "ls-files", name, cwd=PROJECT / ("service" if name == "keyfence" else "iam")).split()
    if missing := (REQUIRED_FILES[name] | set(tracked)) - names:
        sys.exit(f"{wheel.name} lacks {sorted(missing)}")
    if missing_lines := [line for line in REQUIRED_METADATA if line not in metadata.splitlines()]:
        sys.exit(f"the metadata of {wheel.name} lacks {missing_lines}")


def install(wheels: dict[str, Path], folder: Path) -> Path:
    """Installs the wheels and the locked versions of their dependencies. Returns the path of the command `keyfence`."""
    environment, constraints = folder / "environment", folder / "constraints.txt"
    locked = ("--quiet", "--frozen", "--no-hashes", "--no-emit-workspace", "--output-file", str(constraints))
    run("uv", "export", *locked, cwd=PROJECT)
    run("uv", "venv", "--quiet", "--python", sys.executable, str(environment), cwd=folder)
    python = environment / "bin" / "python"
    packages = (f"{wheels['keyfence']}[local]", str(wheels["keyfence_iam"]))
    run("uv", "pip", "install", "--quiet", "--python", str(python), "-c", str(constraints), *packages, cwd=folder)
    return environment / "bin" / "keyfence"


def ask_demo_tenant(program: Path, folder: Path) -> str:
    """Runs the first curl command that `keyfence dev` prints, and returns the id of the tenant in its answer."""
    command = [program, "dev", "--port", "0", "--gate-port", "0", "--data", str(folder / "data")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    signal.signal(signal.SIGALRM, lambda *_: process.kill())
    signal.alarm(MAX_START_SECONDS)
    try:
        answer = request(first_curl(process))
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(MAX_STOP_SECONDS)
        signal.alarm(0)
    if code != 0:
        sys.exit(f"keyfence dev ended with exit code {code}")
    if "errors" in answer:
        sys.exit(f"keyfence dev answered with errors: {answer['errors']}")
    tenant: str = answer["data"]["viewer"]["tenant"]["id"]
    return tenant


def first_curl(process: "subprocess.Popen[str]") -> list[str]:
    lines: list[str] = []
    for line in process.stdout or ():
        lines.append(line)
        if LAST_LINE_OF_START in line:
            return shlex.split(next(command for command in lines if command.startswith("curl ")))
    sys.exit(f"keyfence dev did not start:\n{''.join(lines)}")


def request(curl: list[str]) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    """Sends the request of a curl command with its URL, its -H headers and its -d body. Returns the JSON response."""
    options = dict(pairwise(curl))
    headers = [value for option, value in pairwise(curl) if option == "-H"]
    url = next(part for part in curl if part.startswith("http"))
    curl_request = urllib.request.Request(url, data=options["-d"].encode())
    for header in headers:
        curl_request.add_header(*header.split(": ", 1))
    with urllib.request.urlopen(curl_request, timeout=30) as response:
        answer: dict[str, dict[str, dict[str, dict[str, str]]]] = json.load(response)
    return answer


def run(*command: str, cwd: Path) -> str:
    finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if finished.returncode:
        sys.exit(f"{shlex.join(command)} ended with exit code {finished.returncode}:\n{finished.stderr}")
    return finished.stdout


if __name__ == "__main__":
    main()
