"""Finds the binary of dynoxide, a local DynamoDB engine, or fetches it with npm."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from keyfence.local.engines.engine import EngineMissing, OnProgress

NAME = "dynoxide"
VERSION = "1.2.1"
FETCHED_FILE = f"{NAME}-{VERSION}"
"""The file name of a fetched binary in the data directory."""
PACKAGES = {
    ("linux", "x86_64"): "@dynoxide/linux-x64",
    ("linux", "aarch64"): "@dynoxide/linux-arm64",
    ("darwin", "x86_64"): "@dynoxide/darwin-x64",
    ("darwin", "arm64"): "@dynoxide/darwin-arm64",
}
NPM_SECONDS = 60
"""How long npm may take to download the package."""
NPM_SETTINGS = {
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_ignore_scripts": "true",
    "npm_config_loglevel": "error",
    "npm_config_progress": "false",
    "npm_config_update_notifier": "false",
}


def find_or_fetch(directory: Path, on_progress: OnProgress) -> Path:
    """Returns the dynoxide binary on PATH or in the directory. If there is none, fetches it with npm."""
    return find(directory) or _fetch(directory, on_progress)


def find(directory: Path) -> Path | None:
    """Returns the binary on PATH or in the directory, or None."""
    candidates = (shutil.which(NAME), directory / NAME, directory / FETCHED_FILE)
    return next((Path(path).absolute() for path in candidates if path and _is_program(Path(path))), None)


def npm_program(package: str) -> str:
    """Returns the path of npm. Raises EngineMissing, which names the package, if npm is not on PATH."""
    program = shutil.which("npm")
    if program is None:
        raise EngineMissing(f"{package} cannot be fetched, because npm is not on PATH.")
    return program


def npm_pack(program: str, package: str, directory: Path) -> Path:
    """Downloads the archive of a package and returns its path. npm checks the digest of the archive.

    Raises EngineMissing if npm fails, takes too long or writes no archive.
    """
    try:
        _run_npm([program, "pack", package, "--pack-destination", str(directory)], directory)
        return next(directory.glob("*.tgz"))
    except subprocess.TimeoutExpired as error:
        raise EngineMissing(f"{package} cannot be fetched: npm took longer than {NPM_SECONDS} seconds.") from error
    except subprocess.CalledProcessError as error:
        raise EngineMissing(f"{package} cannot be fetched: npm failed with {_npm_error(error.stderr)}.") from error
    except (OSError, StopIteration) as error:
        raise EngineMissing(f"{package} cannot be fetched: npm wrote no archive.") from error


def _fetch(directory: Path, on_progress: OnProgress) -> Path:
    """Fetches the binary into a temporary directory, and tests that it runs. Then moves it to FETCHED_FILE.

    So an interrupted fetch leaves no broken binary.
    """
    package = _package_name()
    program = npm_program(package)
    on_progress(f"fetching {package} with npm, only once")
    with tempfile.TemporaryDirectory(dir=directory, prefix=".fetch-") as temporary:
        binary = _unpack(npm_pack(program, package, Path(temporary).absolute()))
        _check_runs(binary)
        return binary.replace(directory.absolute() / FETCHED_FILE)


def _run_npm(command: list[str], directory: Path) -> None:
    """Runs npm in `directory`, so that npm does not read the settings of the user's project. npm asks no questions."""
    subprocess.run(  # noqa: S603
        command,
        cwd=directory,
        env=os.environ | NPM_SETTINGS,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=NPM_SECONDS,
        check=True,
    )


def _npm_error(stderr: str) -> str:
    """Returns the error code that npm printed, or the last line if there is no code."""
    code = re.search(r"^npm \S+ code (\S+)", stderr, re.MULTILINE)
    return code[1] if code else (stderr.strip().splitlines() or ["no message"])[-1]


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _package_name() -> str:
    machine = (sys.platform, platform.machine())
    if machine not in PACKAGES:
        raise EngineMissing(f"dynoxide is not on PATH, and it has no package for {' '.join(machine)}.")
    return f"{PACKAGES[machine]}@{VERSION}"


def _unpack(archive: Path) -> Path:
    member = f"package/{NAME}"
    try:
        with tarfile.open(archive) as tar:
            tar.extract(member, archive.parent, filter="data")
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise EngineMissing(f"{archive.name} does not contain {member}.") from error
    binary = archive.parent / member
    binary.chmod(0o700)
    return binary


def _check_runs(binary: Path) -> None:
    try:
        subprocess.run([binary, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineMissing(f"The dynoxide that npm fetched does not run on this machine: {error}.") from error
