"""A domain is added and left out by KEYFENCE_DOMAINS alone."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import keyfence
from keyfence.app.domain_loading import REQUIRED_DOMAINS, built_in_domains, load_domains
from keyfence.domain import BadDomains, Domains
from keyfence.settings import Settings
from tests.system.domains.invoices.access_patterns import invoices
from tests.system.domains.invoices.domain import DOMAIN

INVOICES = "tests.system.domains.invoices.domain:DOMAIN"
SHOP = ("customers", "orders", "products", "categories", "sales", "counters", "stores")
WITHOUT_SHOP = tuple(f"-{name}" for name in SHOP)
ROOT = Path(keyfence.__file__).parent


def test_the_setting_is_a_list_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_DOMAINS", f" {INVOICES}, -orders ,-customers")
    assert Settings().domains == (INVOICES, "-orders", "-customers")


def test_an_added_domain_is_part_of_everything_that_is_derived_from_the_domains() -> None:
    domains, built_in = load_domains((INVOICES,)), load_domains()
    query = domains.schema._schema.query_type
    assert query is not None
    assert {"invoices", "invoicesOfDebtor"} <= set(query.fields)
    assert "type Invoice implements Node" in domains.schema.as_str()
    assert "Invoice" not in built_in.schema.as_str()
    assert domains.entities.tenant_entities_by_type["Invoice"] is invoices
    assert domains.entities.collections.max_shards("invoices") == 16
    assert {pattern.name for pattern in domains.patterns} - {pattern.name for pattern in built_in.patterns} == {
        "invoice_by_id",
        "invoices_of_debtor",
        "newest_invoices",
    }
    for index in ("gsi1", "gsi2"):
        added = set(domains.entities.projections[index]) - set(built_in.entities.projections[index])
        assert added == {"number", "debtor", "amountDue", "paidAt"}
    assert domains.entities.projections["gsi3"] == built_in.entities.projections["gsi3"]
    assert list(domains.record_kinds) == [*built_in.record_kinds, "invoice"]


def test_the_domains_of_the_shop_can_be_left_out_together() -> None:
    domains = load_domains(WITHOUT_SHOP)
    assert {domain.name for domain in domains.domains} == REQUIRED_DOMAINS
    schema = domains.schema.as_str()
    assert [name for name in ("Order", "Customer", "Product", "Category", "Store") if f"type {name} " in schema] == []
    assert "type User implements Node" in schema
    assert list(domains.record_kinds) == []
    assert set(domains.entities.collections.shardings) == {"users", "groups", "group_members", "activity"}


@pytest.mark.parametrize("name", [domain.name for domain in built_in_domains()])
def test_a_domain_declares_the_domains_that_it_depends_on(name: str) -> None:
    """Every domain that is imported is in `depends_on`, of this domain or of a domain that it depends on."""
    all_dependencies, unvisited = set[str](), [name]
    by_name = {domain.name: domain for domain in built_in_domains()}
    while unvisited:
        for other in by_name[unvisited.pop()].depends_on:
            if other not in all_dependencies:
                all_dependencies.add(other)
                unvisited.append(other)
    imported_domains = {
        parts[2] for path in (ROOT / "domains" / name).glob("*.py") for parts in _imports(path, "domains")
    }
    assert imported_domains - {name} <= all_dependencies


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (("-orders",), "the domain customers needs orders; add it, or leave out customers too"),
        (("-products",), "the domain categories needs products"),
        (("-invoices",), "there is no built-in domain invoices to leave out"),
        (("-users",), "the service itself needs the domain users"),
        (("-sessions",), "the service itself needs the domain sessions"),
        (("no.such.module:DOMAIN",), "cannot import the domain 'no.such.module:DOMAIN'"),
        (("tests.system.domains.invoices.domain:NOTHING",), "cannot import the domain"),
        (("tests.system.domains.invoices.domain",), "cannot import the domain"),
        (("tests.system.domains.invoices.model:Invoice",), "is not a keyfence.domain.Domain"),
        ((INVOICES, INVOICES), "two domains declare the domain invoices"),
    ],
)
def test_a_selection_that_cannot_work_is_refused_with_its_reason(selection: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadDomains) as refused:
        load_domains(selection)
    assert message in refused.value.message


def test_two_domains_cannot_declare_the_same_id_prefix_type_collection_or_record_kind() -> None:
    with pytest.raises(BadDomains) as refused:
        Domains((DOMAIN, replace(DOMAIN, name="bills")))
    assert refused.value.message.splitlines() == [
        "two domains declare the id prefix inv",
        "two domains declare the record kind invoice",
    ]


def test_every_folder_of_domains_is_a_built_in_domain() -> None:
    folders = {path.parent.name for path in (ROOT / "domains").glob("*/domain.py")}
    assert {domain.name for domain in built_in_domains()} == folders
    assert folders >= REQUIRED_DOMAINS


def test_only_required_domains_are_imported_outside_their_folder() -> None:
    """A new domain therefore needs no change elsewhere. Only `local/demo`, the demo data, names other domains."""
    allowed = {f"keyfence.domains.{name}" for name in REQUIRED_DOMAINS}
    modules = [path for path in ROOT.rglob("*.py") if not path.is_relative_to(ROOT / "domains")]
    exempt = set((ROOT / "local" / "demo").glob("*.py"))
    found = {
        f"{path.relative_to(ROOT)} imports {'.'.join(parts)}"
        for path in modules
        if path not in exempt
        for parts in _imports(path, "domains")
        if ".".join(parts[:3]) not in allowed
    }
    assert found == set()


def test_no_other_module_has_a_stored_type_a_collection_or_a_record_kind_in_a_string() -> None:
    domains = [domain for domain in built_in_domains() if domain.name not in REQUIRED_DOMAINS]
    entities = Domains([replace(domain, depends_on=()) for domain in domains]).entities
    names = {
        *(entity.type for entity in entities),
        *entities.collections.shardings,
        *(domain.record_kind.name for domain in domains if domain.record_kind),
    }
    exempt = set((ROOT / "local" / "demo").glob("*.py"))
    found = {
        f"{path.relative_to(ROOT)}:{line} {value}"
        for path in ROOT.rglob("*.py")
        if not path.is_relative_to(ROOT / "domains") and path not in exempt
        for line, value in _strings(path)
        if value in names
    }
    assert found == set()


def _imports(path: Path, layer: str) -> Iterator[tuple[str, ...]]:
    """Yields the dotted names, as tuples, that a file imports from `keyfence.<layer>`."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            base = node.module
            names = [f"{base}.{alias.name}" for alias in node.names] if base == f"keyfence.{layer}" else [base]
        yield from (tuple(name.split(".")) for name in names if name.startswith(f"keyfence.{layer}."))


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
