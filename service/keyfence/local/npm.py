"""npm as a way to fetch a package's archive."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from keyfence.local.engines.engine import EngineMissing

SECONDS = 60
SETTINGS = {
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_ignore_scripts": "true",
    "npm_config_loglevel": "error",
    "npm_config_progress": "false",
    "npm_config_update_notifier": "false",
}


def find(package: str) -> str:
    """npm itself, without which the package is missing."""
    program = shutil.which("npm")
    if program is None:
        raise EngineMissing(f"{package} cannot be fetched, because npm is not on PATH.")
    return program


def pack(program: str, package: str, into: Path) -> Path:
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
