"""The page about the scale model has the assumptions and policies of the model."""

import xml.etree.ElementTree as ET

from tests.benchmarks.scale.assumptions import LIMITATIONS, assumptions, bullet_list
from tests.benchmarks.scale.population import RunParameters
from tests.benchmarks.scale.report_table import HEADINGS
from tests.benchmarks.scale.shard_policies import POLICIES
from tests.docs.pages import DOCS, table

PAGE = DOCS / "reference" / "scale.md"
COMMAND = "uv run python -m tests.benchmarks.scale --write-docs"


def test_the_assumptions_on_the_page_have_not_drifted() -> None:
    text = PAGE.read_text()
    assert bullet_list(assumptions(RunParameters())) in text, f"run {COMMAND}"
    assert bullet_list(LIMITATIONS) in text, f"run {COMMAND}"
    assert f"{RunParameters().tenants:,} tenants over {RunParameters().seconds} s" in text


def test_every_policy_has_a_row_with_every_figure() -> None:
    rows = table(PAGE, HEADINGS[0])
    assert [row[1] for row in rows] == 2 * list(POLICIES)
    assert {len(row) for row in rows} == {len(HEADINGS)}


def test_the_plot_has_a_line_for_every_row() -> None:
    root = ET.parse(DOCS / "reference" / "scale.svg").getroot()
    lines = [one for one in root.iter() if one.tag.endswith("polyline") and len(one.attrib["points"].split()) > 2]
    assert len(lines) == len(table(PAGE, HEADINGS[0]))
