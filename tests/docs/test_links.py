"""Every link of a page leads to an existing file, and every Python file that a page names exists."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, links, name_of, prose

FILES = [f"/{path.relative_to(ROOT)}" for top in ("service", "iam", "tests") for path in (ROOT / top).rglob("*.py")]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_an_existing_file(page: Path) -> None:
    assert [link for link in links(page) if not (page.parent / link.partition("#")[0]).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`([\w./]+\.py)`", prose(page))
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in FILES)] == []


def test_the_front_page_has_links() -> None:
    assert "docs/build/architecture.md" in links(PAGES[0])
