"""The page about the scale model has the assumptions and policies of the model."""

import xml.etree.ElementTree as ET

from tests.benchmarks.scale.assumptions import LEFT_OUT, assumed, points
from tests.benchmarks.scale.policy import POLICIES
from tests.benchmarks.scale.population import World
from tests.benchmarks.scale.table import HEADINGS
from tests.docs.pages import DOCS, table

PAGE = DOCS / "reference" / "scale.md"
COMMAND = "uv run python -m tests.benchmarks.scale --write-docs"


def test_the_assumptions_on_the_page_have_not_drifted() -> None:
    text = PAGE.read_text()
    assert points(assumed(World())) in text, f"run {COMMAND}"
    assert points(LEFT_OUT) in text, f"run {COMMAND}"
    assert f"{World().tenants:,} tenants over {World().seconds} s" in text


def test_every_policy_has_a_row_with_every_figure() -> None:
    rows = table(PAGE, HEADINGS[0])
    assert [row[1] for row in rows] == 2 * list(POLICIES)
    assert {len(row) for row in rows} == {len(HEADINGS)}


def test_the_plot_has_a_line_for_every_row() -> None:
    root = ET.parse(DOCS / "reference" / "scale.svg").getroot()
    lines = [one for one in root.iter() if one.tag.endswith("polyline") and len(one.attrib["points"].split()) > 2]
    assert len(lines) == len(table(PAGE, HEADINGS[0]))
