"""Builds both wheels, installs them into an empty environment, and asks `keyfence dev` a question there.

    uv run --no-sync python .ci/check_wheels.py

Nothing of the project is on the path: what a wheel lacks is missing here as it is for whoever installs it. Exits with 1
and the reason if a file is missing, if the command does not start, or if its answer is not the demo tenant's."""

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
REQUIRED = {
    "keyfence": {"keyfence/py.typed", "keyfence/access_patterns/measured.json"},
    "keyfence_iam": {"keyfence_iam/py.typed"},
}
METADATA = ("License-Expression: Apache-2.0", "Description-Content-Type: text/markdown", "Requires-Python: >=3.11")
READY = "Press Ctrl-C to stop."
START_SECONDS, END_SECONDS = 120, 20


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
    """Returns the wheel of each package."""
    run("uv", "build", "--quiet", "--all-packages", "--wheel", "--out-dir", str(folder), cwd=PROJECT)
    found = {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}
    if found.keys() != REQUIRED.keys():
        sys.exit(f"expected wheels of {sorted(REQUIRED)}, found {sorted(found)}")
    return found


def check_content(name: str, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(path for path in names if path.endswith(".dist-info/METADATA"))).decode()
    tracked = run("git", "ls-files", name, cwd=PROJECT / ("service" if name == "keyfence" else "iam")).split()
    if missing := (REQUIRED[name] | set(tracked)) - names:
        sys.exit(f"{wheel.name} lacks {sorted(missing)}")
    if missing_lines := [line for line in METADATA if line not in metadata.splitlines()]:
        sys.exit(f"the metadata of {wheel.name} lacks {missing_lines}")


def install(wheels: dict[str, Path], folder: Path) -> Path:
    """Returns the command `keyfence` of an environment that has the wheels and locked versions of the rest."""
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
    signal.alarm(START_SECONDS)
    try:
        answer = request(first_curl(process))
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(END_SECONDS)
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
        if READY in line:
            return shlex.split(next(found for found in lines if found.startswith("curl ")))
    sys.exit(f"keyfence dev did not start:\n{''.join(lines)}")


def request(curl: list[str]) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    """Sends the request of a curl command: its address, its -H headers and its -d body."""
    options = dict(pairwise(curl))
    headers = [value for option, value in pairwise(curl) if option == "-H"]
    address = next(part for part in curl if part.startswith("http"))
    made = urllib.request.Request(address, data=options["-d"].encode())
    for header in headers:
        made.add_header(*header.split(": ", 1))
    with urllib.request.urlopen(made, timeout=30) as response:
        answer: dict[str, dict[str, dict[str, dict[str, str]]]] = json.load(response)
    return answer


def run(*command: str, cwd: Path) -> str:
    finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if finished.returncode:
        sys.exit(f"{shlex.join(command)} ended with exit code {finished.returncode}:\n{finished.stderr}")
    return finished.stdout


if __name__ == "__main__":
    main()
