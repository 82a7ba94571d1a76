"""What is generated is what the code would print now."""

from pathlib import Path

import pytest

from keyfence.access_patterns.report import as_markdown
from keyfence.admin.schema import schema as admin_schema
from keyfence.app.domains import load_domains
from keyfence.settings import Settings
from tests.docs import reference
from tests.docs.pages import DOCS

GENERATED = {
    "keyfence patterns > docs/access-patterns.md": (DOCS / "access-patterns.md", as_markdown(load_domains())),
    "keyfence schema > docs/schema.graphql": (DOCS / "schema.graphql", load_domains().schema.as_str() + "\n"),
    "keyfence schema --admin > docs/schema-admin.graphql": (
        DOCS / "schema-admin.graphql",
        admin_schema.as_str() + "\n",
    ),
}
REFERENCE = {page.name: page for page in reference.PAGES}


@pytest.mark.parametrize("command", GENERATED)
def test_a_generated_page_has_not_drifted(command: str) -> None:
    page, wanted = GENERATED[command]
    assert _text(page) == wanted, f"{page.name} has drifted: run uv run {command}"


@pytest.mark.parametrize("name", REFERENCE)
def test_a_reference_page_has_not_drifted(name: str) -> None:
    page = REFERENCE[name]
    assert _text(page) == reference.PAGES[page](), f"{name} has drifted: run {reference.COMMAND}"


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def _text(page: Path) -> str:
    return page.read_text() if page.exists() else ""
