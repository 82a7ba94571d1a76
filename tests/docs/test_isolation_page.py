"""The isolation page names every role. Each threat on it has a control and tests that exist."""

import re

import pytest

from keyfence_iam.roles import ROLES
from tests.docs.pages import DOCS, ROOT, Row, blocks, table, tables

PAGE = DOCS / "isolate" / "isolation.md"
THREATS = [row for rows in tables(PAGE, "threat") for row in rows]


def test_the_page_has_a_row_for_every_role() -> None:
    assert {row[0].strip("`") for row in table(PAGE, "role")} == set(ROLES)


@pytest.mark.parametrize("row", THREATS, ids=lambda row: row[0][:40])
def test_every_threat_has_a_control_and_tests_that_exist(row: Row) -> None:
    _, control, proof = row
    named = re.findall(r"`(tests/[\w/]+\.py)`", proof) or [proof]
    assert control
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_weakness_that_is_named_has_a_test_with_its_code() -> None:
    named = set(re.findall(r"\((H\d+)", PAGE.read_text()))
    test_code = " ".join(page.read_text() for page in (ROOT / "tests" / "isolation").glob("test_weaknesses*.py"))
    assert named
    assert [code for code in named if f"test_{code}_" not in test_code] == []


def test_assumptions_about_aws_are_decided_in_files_that_exist() -> None:
    files = {row[2].strip("`") for row in table(DOCS / "reference" / "aws-assumptions.md", "point")}
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_page_shows_how_to_get_a_tenants_session() -> None:
    assert "keyfence credentials --tenant" in "".join(blocks(PAGE, "sh"))
