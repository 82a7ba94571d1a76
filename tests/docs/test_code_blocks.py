"""Code that a page shows runs, and JSON that it shows is JSON."""

import json
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, blocks, name_of


def of(language: str) -> list[tuple[Path, str]]:
    return [(page, code) for page in PAGES for code in blocks(page, language)]


def title(value: object) -> str:
    return name_of(value) if isinstance(value, Path) else "block"


@pytest.mark.parametrize(("page", "code"), of("python"), ids=title)
def test_python_runs(page: Path, code: str) -> None:
    exec(compile(code, name_of(page), "exec"), {"__name__": page.stem})


@pytest.mark.parametrize(("page", "code"), of("json"), ids=title)
def test_json_is_json(page: Path, code: str) -> None:
    assert json.loads(code), name_of(page)


def test_there_is_something_to_run() -> None:
    assert blocks(DOCS / "architecture.md", "python")
