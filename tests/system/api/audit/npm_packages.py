"""Installs the npm packages of the audit into the user's cache, once for each version."""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

import pytest

AUDIT_FOLDER = Path(__file__).parent
PACKAGES = ("package.json", "package-lock.json")


def install() -> Path:
    """Returns the folder with the packages. Without npm, skips the test, or fails it on CI."""
    if not (shutil.which("node") and shutil.which("npm")):
        fail_or_skip = pytest.fail if os.environ.get("CI") else pytest.skip
        fail_or_skip("node and npm are not installed")
    version = sha256(b"".join((AUDIT_FOLDER / name).read_bytes() for name in PACKAGES)).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keyfence" / f"audit-{version}"
    return folder if folder.exists() else _install(folder)


def _install(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary_folder = Path(mkdtemp(dir=folder.parent))
    for name in PACKAGES:
        shutil.copy(AUDIT_FOLDER / name, temporary_folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    finished = subprocess.run(command, cwd=temporary_folder, capture_output=True, text=True, timeout=300, check=False)
    if finished.returncode:
        shutil.rmtree(temporary_folder)
        pytest.fail(f"npm could not install the audit:\n{finished.stderr}")
    return _move_into_place(temporary_folder, folder)


def _move_into_place(temporary_folder: Path, folder: Path) -> Path:
    """Renames the temporary folder to `folder`. If another worker has done so already, its folder is used."""
    try:
        return temporary_folder.rename(folder)
    except OSError:
        shutil.rmtree(temporary_folder)
        return folder
