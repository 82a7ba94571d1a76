"""The dynoxide binary is found, fetched completely, or reported as missing."""

import os
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from keyfence.local.engines import dynoxide_binary
from keyfence.local.engines.dynoxide_binary import FETCHED_FILE, VERSION, find, find_or_fetch
from keyfence.local.engines.engine import EngineMissing
from tests.engines import dynoxide_binary as installed_binary
from tests.service.local.conftest import quiet

WORKS = "#!/bin/sh\nexit 0\n"
REFUSES = "#!/bin/sh\necho 'npm error code E404' >&2\nexit 1\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes an empty directory the only one on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    return programs


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def program(path: Path, text: str = WORKS) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def npm_that_packs(path: Path, content: bytes) -> None:
    """Writes an npm whose `pack` produces this archive."""
    archive = path.parent / "made.tgz"
    archive.write_bytes(content)
    program(path / "npm", f'#!/bin/sh\n/bin/cp {archive} "$4/made.tgz"\n')


def archive_of(tmp_path: Path, name: str, text: str) -> bytes:
    (tmp_path / "content").write_text(text)
    with tarfile.open(tmp_path / "draft.tgz", "w:gz") as tar:
        tar.add(tmp_path / "content", name)
    return (tmp_path / "draft.tgz").read_bytes()


def test_a_binary_on_path_is_preferred(path: Path, data: Path) -> None:
    program(data / "dynoxide")
    on_path = program(path / "dynoxide")
    assert find(data) == on_path


@pytest.mark.parametrize("name", ["dynoxide", FETCHED_FILE])
def test_a_binary_in_the_data_directory_needs_no_npm(path: Path, data: Path, name: str) -> None:
    binary = program(data / name)
    assert find_or_fetch(data, quiet) == binary


def test_a_file_that_cannot_be_executed_is_not_used(path: Path, data: Path) -> None:
    (data / "dynoxide").write_text(WORKS)
    (data / FETCHED_FILE).mkdir()
    assert find(data) is None


def test_without_npm_dynoxide_is_missing(path: Path, data: Path) -> None:
    with pytest.raises(EngineMissing, match="npm is not on PATH"):
        find_or_fetch(data, quiet)


def test_a_machine_without_a_package_is_named_in_the_error(
    path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(EngineMissing, match="riscv64"):
        find_or_fetch(data, quiet)


def test_the_error_code_of_npm_is_in_the_error(path: Path, data: Path) -> None:
    program(path / "npm", REFUSES)
    with pytest.raises(EngineMissing, match="npm failed with E404"):
        find_or_fetch(data, quiet)


def test_an_npm_that_hangs_is_stopped(path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynoxide_binary, "NPM_SECONDS", 0.1)
    program(path / "npm", "#!/bin/sh\nexec /bin/sleep 60\n")
    with pytest.raises(EngineMissing, match="longer than"):
        find_or_fetch(data, quiet)


@pytest.mark.parametrize("part", ["nothing", "half", "another file", "one that does not run"])
def test_a_bad_fetch_leaves_nothing_behind(part: str, path: Path, data: Path, tmp_path: Path) -> None:
    complete = archive_of(tmp_path, "package/dynoxide", os.urandom(4096).hex())
    other = archive_of(tmp_path, "package/readme", "hello")
    contents = {"nothing": b"", "half": complete[:2000], "another file": other, "one that does not run": complete}
    npm_that_packs(path, contents[part])
    with pytest.raises(EngineMissing):
        find_or_fetch(data, quiet)
    assert list(data.iterdir()) == []


def test_a_good_fetch_leaves_the_binary_and_nothing_else(path: Path, data: Path, tmp_path: Path) -> None:
    npm_that_packs(path, archive_of(tmp_path, "package/dynoxide", WORKS))
    steps: list[str] = []
    assert find_or_fetch(data, steps.append) == data / FETCHED_FILE
    assert stat.S_IMODE((data / FETCHED_FILE).stat().st_mode) == 0o700
    assert [entry.name for entry in data.iterdir()] == [FETCHED_FILE]
    assert [step for step in steps if "fetching" in step]


def test_the_binary_is_fetched_once(path: Path, data: Path, tmp_path: Path) -> None:
    npm_that_packs(path, archive_of(tmp_path, "package/dynoxide", WORKS))
    find_or_fetch(data, quiet)
    (path / "npm").unlink()
    assert find_or_fetch(data, quiet) == data / FETCHED_FILE


@pytest.mark.npm
@pytest.mark.usefixtures("dynoxide_program")
def test_the_real_package_contains_the_pinned_version(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test removes what is on PATH. `dynoxide_program` skips it on a machine that cannot fetch the package."""
    monkeypatch.setattr("keyfence.local.engines.dynoxide_binary.find", lambda _: None)
    fetched = installed_binary(data)
    said = subprocess.run([fetched, "--version"], capture_output=True, text=True, check=True).stdout
    assert VERSION in said
