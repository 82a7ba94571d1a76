"""The npm packages of the audit, installed once per version into the user's cache."""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

import pytest

HERE = Path(__file__).parent
PACKAGES = ("package.json", "package-lock.json")


def install() -> Path:
    """Returns the folder with the packages. Skips the test on a machine without npm; on CI that is a failure."""
    if not (shutil.which("node") and shutil.which("npm")):
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("node and npm are not installed")
    version = sha256(b"".join((HERE / name).read_bytes() for name in PACKAGES)).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keyfence" / f"audit-{version}"
    return folder if folder.exists() else _install(folder)


def _install(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(mkdtemp(dir=folder.parent))
    for name in PACKAGES:
        shutil.copy(HERE / name, fresh)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(command, cwd=fresh, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        shutil.rmtree(fresh)
        pytest.fail(f"npm could not install the audit:\n{done.stderr}")
    return _placed(fresh, folder)


def _placed(fresh: Path, folder: Path) -> Path:
    """Moves the folder into place. If another worker was first, its folder is used."""
    try:
        return fresh.rename(folder)
    except OSError:
        shutil.rmtree(fresh)
        return folder
