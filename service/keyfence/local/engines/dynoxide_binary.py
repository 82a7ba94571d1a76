"""Finding or fetching the binary."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from keyfence.local.engines.engine import EngineMissing, Progress

SECONDS = 60
SETTINGS = {
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_ignore_scripts": "true",
    "npm_config_loglevel": "error",
    "npm_config_progress": "false",
    "npm_config_update_notifier": "false",
}


def find_npm(package: str) -> str:
    """npm itself, without which the package is missing."""
    program = shutil.which("npm")
    if program is None:
        raise EngineMissing(f"{package} cannot be fetched, because npm is not on PATH.")
    return program


def npm_pack(program: str, package: str, into: Path) -> Path:
    """The package's archive, which npm has checked against the digest that its registry gives."""
    try:
        _run([program, "pack", package, "--pack-destination", str(into)], into)
        return next(into.glob("*.tgz"))
    except subprocess.TimeoutExpired as error:
        raise EngineMissing(f"{package} could not be fetched: npm took longer than {SECONDS} seconds.") from error
    except subprocess.CalledProcessError as error:
        raise EngineMissing(f"{package} could not be fetched: npm says {_reason(error.stderr)}.") from error
    except (OSError, StopIteration) as error:
        raise EngineMissing(f"{package} could not be fetched: npm gave no archive.") from error


def _run(command: list[str], directory: Path) -> None:
    """The command asks nothing, and reads no settings of the project that it is started in."""
    subprocess.run(  # noqa: S603
        command,
        cwd=directory,
        env=os.environ | SETTINGS,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )


def _reason(stderr: str) -> str:
    code = re.search(r"^npm \S+ code (\S+)", stderr, re.MULTILINE)
    return code[1] if code else (stderr.strip().splitlines() or ["nothing"])[-1]


NAME = "dynoxide"
VERSION = "1.2.1"
FETCHED = f"{NAME}-{VERSION}"
PACKAGES = {
    ("linux", "x86_64"): "@dynoxide/linux-x64",
    ("linux", "aarch64"): "@dynoxide/linux-arm64",
    ("darwin", "x86_64"): "@dynoxide/darwin-x64",
    ("darwin", "arm64"): "@dynoxide/darwin-arm64",
}


def shared_cache() -> Path:
    """A directory of this user's in which one fetched binary can serve many data directories, as in test runs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keyfence"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def find_or_fetch(directory: Path, progress: Progress) -> Path:
    """The binary, from PATH, from the directory, or fetched into the directory."""
    return find(directory) or _fetch(directory, progress)


def find(directory: Path) -> Path | None:
    places = (shutil.which(NAME), directory / NAME, directory / FETCHED)
    return next((Path(place).absolute() for place in places if place and _is_program(Path(place))), None)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _fetch(directory: Path, progress: Progress) -> Path:
    """Renamed into place once it has shown that it runs: an interrupted fetch leaves no half a binary."""
    package = _package()
    program = find_npm(package)
    progress(f"fetching {package} with npm, this once")
    with tempfile.TemporaryDirectory(dir=directory, prefix=".fetch-") as draft:
        binary = _unpack(npm_pack(program, package, Path(draft).absolute()))
        _try(binary)
        return binary.replace(directory.absolute() / FETCHED)


def _package() -> str:
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
        raise EngineMissing(f"{archive.name} does not hold {member}.") from error
    binary = archive.parent / member
    binary.chmod(0o755)
    return binary


def _try(binary: Path) -> None:
    try:
        subprocess.run([binary, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineMissing(f"The dynoxide that npm fetched does not run on this machine: {error}.") from error
