"""The project names no package registry: where packages come from is for each machine to say."""

import os
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import README, ROOT, name_of

REGISTRIES = ("pypi" + ".org", "python" + "hosted", "npm" + "js.")
LOCKS = {"uv.lock", "package-lock.json"}
ELSEWHERE = {"node_modules", "__pycache__", "dist"}


def test_no_file_names_a_package_registry() -> None:
    assert [name_of(path) for path in _files() if any(word in _text(path) for word in REGISTRIES)] == []


def test_the_files_of_the_project_are_looked_at() -> None:
    assert {README, ROOT / "pyproject.toml", Path(__file__)} <= set(_files())


def _files() -> Iterator[Path]:
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in ELSEWHERE and (name == ".ci" or not name.startswith("."))]
        yield from (Path(folder) / name for name in names if name not in LOCKS)


def _text(path: Path) -> str:
    return path.read_text(errors="ignore")
