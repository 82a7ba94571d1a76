"""What is generated is what the code would print now."""

from pathlib import Path

import pytest

from keyfence.access_patterns.report import as_markdown
from keyfence.admin.schema import schema as admin_schema
from keyfence.app.domains import load_domains
from tests.docs.pages import DOCS

GENERATED = {
    "keyfence patterns > docs/access-patterns.md": (DOCS / "access-patterns.md", as_markdown(load_domains())),
    "keyfence schema > docs/schema.graphql": (DOCS / "schema.graphql", load_domains().schema.as_str() + "\n"),
    "keyfence schema --admin > docs/schema-admin.graphql": (
        DOCS / "schema-admin.graphql",
        admin_schema.as_str() + "\n",
    ),
}


@pytest.mark.parametrize("command", GENERATED)
def test_a_generated_page_has_not_drifted(command: str) -> None:
    page, wanted = GENERATED[command]
    assert _text(page) == wanted, f"{page.name} has drifted: run uv run {command}"


def _text(page: Path) -> str:
    return page.read_text() if page.exists() else ""
