"""The Python code blocks of pages run, and their JSON code blocks are valid JSON."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, blocks, name_of


def blocks_of_all_pages(language: str) -> list[tuple[Path, str]]:
    return [(page, code) for page in PAGES for code in blocks(page, language)]


def parameter_id(value: object) -> str:
    return name_of(value) if isinstance(value, Path) else "block"


@pytest.mark.parametrize(("page", "code"), blocks_of_all_pages("python"), ids=parameter_id)
def test_python_runs(page: Path, code: str) -> None:
    exec(compile(code, name_of(page), "exec"), {"__name__": page.stem})


@pytest.mark.parametrize(("page", "code"), blocks_of_all_pages("json"), ids=parameter_id)
def test_json_is_json(page: Path, code: str) -> None:
    assert json.loads(code), name_of(page)


def test_the_architecture_page_has_python_code() -> None:
    assert blocks(DOCS / "build" / "architecture.md", "python")


def test_code_that_is_copied_from_a_file_is_equal_to_the_file() -> None:
    """A comment before the block names the file. In the page, the name of the example's package is shorter."""
    page = DOCS / "build" / "add-a-domain.md"
    copies = re.findall(r"<!-- source: (\S+) -->\n```py\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert copies
    for file, code in copies:
        assert code == (ROOT / file).read_text().replace("tests.system.domains.invoices", "shop.invoices")
