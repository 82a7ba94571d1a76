"""A page about a decision has its parts in order, is short, and names existing tests that check the decision."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DECISIONS, ROOT, prose

PARTS = ["Problem", "Decision", "Reasons", "Rejected", "Consequences", "Tests"]
MAX_WORDS = 500


def test_decisions_are_numbered_without_a_gap() -> None:
    assert DECISIONS
    assert [page.name[:5] for page in DECISIONS] == [f"{number:04}-" for number in range(1, len(DECISIONS) + 1)]


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_its_number_and_its_parts(page: Path) -> None:
    text = prose(page)
    assert text.startswith(f"# {page.name[:4]} ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == PARTS


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_names_tests_that_exist(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", prose(page).partition(f"## {PARTS[-1]}")[2])
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_fits_on_one_page(page: Path) -> None:
    assert len(prose(page).split()) <= MAX_WORDS
