"""No file of the project names a package registry, since each machine configures its own."""

import os
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import README, ROOT, name_of

REGISTRIES = ("pypi" + ".org", "python" + "hosted", "npm" + "js.")
LOCK_FILES = {"uv.lock", "package-lock.json"}
IGNORED_FOLDERS = {"node_modules", "__pycache__", "dist"}


def test_no_file_names_a_package_registry() -> None:
    assert [name_of(path) for path in _files() if any(word in _text(path) for word in REGISTRIES)] == []


def test_the_search_covers_the_files_of_the_project() -> None:
    assert {README, ROOT / "pyproject.toml", Path(__file__)} <= set(_files())


def _files() -> Iterator[Path]:
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [
            name for name in subfolders if name not in IGNORED_FOLDERS and (name == ".ci" or not name.startswith("."))
        ]
        yield from (Path(folder) / name for name in names if name not in LOCK_FILES)


def _text(path: Path) -> str:
    return path.read_text(errors="ignore")
