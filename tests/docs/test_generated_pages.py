"""Generated pages have the text that the code generates now."""

from pathlib import Path

import pytest

from keyfence.settings import Settings
from tests.docs import reference


@pytest.mark.parametrize("page", reference.PAGES, ids=lambda page: page.name)
def test_a_generated_page_has_not_drifted(page: Path) -> None:
    text = page.read_text() if page.exists() else ""
    assert text == reference.PAGES[page](), f"{page.name} has drifted: run {reference.COMMAND}"


def test_every_setting_has_a_description() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
