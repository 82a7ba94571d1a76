"""The isolation page names every role, and every threat has a lock and a proof that exists."""

import re

import pytest

from keyfence_iam.roles import ROLES
from tests.docs.pages import DOCS, ROOT, Row, blocks, table

PAGE = DOCS / "isolation.md"
THREATS = table(PAGE, "threat")


def test_every_role_has_a_line() -> None:
    assert {row[0].strip("`") for row in table(PAGE, "role")} == set(ROLES)


@pytest.mark.parametrize("row", THREATS, ids=lambda row: row[0][:40])
def test_every_threat_has_a_lock_and_tests_that_exist(row: Row) -> None:
    _, lock, proof = row
    named = re.findall(r"`(tests/[\w/]+\.py)`", proof) or [proof]
    assert lock
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_hole_that_is_named_has_a_test_of_its_name() -> None:
    named = set(re.findall(r"\((H\d+)", PAGE.read_text()))
    written = " ".join(page.read_text() for page in (ROOT / "tests" / "isolation").glob("test_weaknesses*.py"))
    assert named
    assert [hole for hole in named if f"test_{hole}_" not in written] == []


def test_points_to_confirm_stand_where_the_page_says() -> None:
    places = {row[2].strip("`") for row in table(PAGE, "point")}
    assert [place for place in places if not (ROOT / place).is_file()] == []


def test_the_page_shows_how_to_be_a_tenant() -> None:
    assert "keyfence credentials --tenant" in "".join(blocks(PAGE, "sh"))
