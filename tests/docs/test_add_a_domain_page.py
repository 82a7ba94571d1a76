"""The page about domains has the numbers of projected attributes and the domains that cannot be left out."""

from keyfence.app.domain_loading import REQUIRED_DOMAINS, load_domains
from keyfence.store.entity_registry import MAX_INCLUDED_ATTRIBUTES
from tests.docs.pages import DOCS, blocks, prose

TEXT = " ".join(prose(DOCS / "build" / "add-a-domain.md").split())
INVOICES = "tests.system.domains.invoices.domain:DOMAIN"


def test_the_page_has_how_many_attributes_the_built_in_domains_project() -> None:
    counts = {index: len(names) for index, names in load_domains().entities.projections.items()}
    assert f"at most {MAX_INCLUDED_ATTRIBUTES} named attributes" in TEXT
    assert f"use {counts['gsi1']} in GSI1, {counts['gsi2']} in GSI2 and {counts['gsi3']} in GSI3" in TEXT


def test_the_domains_that_the_page_selects_can_be_loaded_together() -> None:
    (command,) = [code for code in blocks(DOCS / "build" / "add-a-domain.md", "sh") if "KEYFENCE_DOMAINS" in code]
    added, *left_out = command.partition("=")[2].split()[0].split(",")
    assert added == "shop.invoices.domain:DOMAIN"
    names = {domain.name for domain in load_domains((INVOICES, *left_out)).domains}
    assert "invoices" in names
    assert not names & {name.removeprefix("-") for name in left_out}


def test_the_page_names_the_domains_that_cannot_be_left_out() -> None:
    sentence = TEXT.partition("You cannot leave out ")[2].partition(".")[0]
    assert {name for name in sentence.split("`") if name.isidentifier()} - {"and"} == REQUIRED_DOMAINS
