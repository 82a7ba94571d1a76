"""The page about the bulk format has the kinds of records in the order of an export. Its example can be imported."""

from io import BytesIO

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.importer import check_lines
from tests.docs.pages import DOCS, blocks, table

PAGE = DOCS / "reference" / "bulk-format.md"
KINDS = load_domains().record_kinds


def test_the_page_has_every_kind_of_record_in_the_order_of_an_export() -> None:
    assert [row[0].strip("`") for row in table(PAGE, "type")] == list(KINDS)


def test_the_example_can_be_imported() -> None:
    (example,) = blocks(PAGE, "json")
    assert check_lines(BytesIO(example.encode()), KINDS) == 1
