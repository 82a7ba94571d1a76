"""The catalog of access patterns is complete, and its page is the same in every process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import keyfence
from keyfence.access_patterns.report import as_markdown, as_rows
from keyfence.app.domain_loading import load_domains
from keyfence.domain import NamedPattern
from keyfence.store.dynamodb.table_definition import table_definition
from keyfence.store.entity import Get

ENTITIES = list(load_domains().entities)
PATTERNS = list(load_domains().patterns)
ROWS = dict(zip(map(str, PATTERNS), as_rows(load_domains()), strict=True))

each_pattern = pytest.mark.parametrize("named", PATTERNS, ids=str)


def test_every_access_patterns_module_is_in_the_catalog() -> None:
    domains = load_domains()
    modules = {*domains.control_plane, *(one for domain in domains.domains for one in domain.access_patterns)}
    root = Path(keyfence.__file__).parent
    files = {path for path in root.rglob("*.py") if re.search(r"^\w+ = entity\(", path.read_text(), re.MULTILINE)}
    assert {Path(str(module.__file__)) for module in modules} >= files


def test_every_pattern_has_its_own_name_and_a_declared_entity() -> None:
    names = [named.name for named in PATTERNS]
    assert len(names) == len(set(names)) > 0
    used = [entity for named in PATTERNS for entity in named.entities]
    assert {entity.type for entity in used} <= {entity.type for entity in ENTITIES}
    assert all(any(one is entity for entity in ENTITIES) for one in used)


@each_pattern
def test_every_row_is_complete(named: NamedPattern) -> None:
    row = ROWS[named.name]
    assert all(row[cell] for cell in ("pattern", "operation", "index", "partition", "sort", "entity"))
    assert row["operation"] == ("GetItem" if isinstance(named.pattern, Get) else "Query")
    assert bool(row["direction"]) == (row["operation"] == "Query")
    assert row["partition"].startswith(("TENANT#<tenant>#", "CONTROL#"))
    assert "_" not in row["pattern"]


def test_the_rows_are_the_patterns_in_their_order() -> None:
    assert [row["pattern"] for row in as_rows(load_domains())] == [str(named).replace("_", " ") for named in PATTERNS]


def test_the_page_names_every_pattern_and_every_entity_in_whole_rows() -> None:
    lines = as_markdown(load_domains()).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    widths = {line.count("|") for line in tables}
    assert widths == {11, 7, 6}
    assert {line.split("|")[1].strip() for line in tables} >= {
        *(str(named).replace("_", " ") for named in PATTERNS),
        *(entity.type for entity in ENTITIES),
    }


def test_the_page_is_the_same_in_every_process() -> None:
    files = {_page_with_hash_seed(seed) for seed in ("1", "2")}
    assert files == {as_markdown(load_domains())}


def _page_with_hash_seed(seed: str) -> str:
    script = (
        "import sys\n"
        "from keyfence.access_patterns.report import as_markdown\n"
        "from keyfence.app.domain_loading import load_domains\n"
        "sys.stdout.write(as_markdown(load_domains()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    process = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return process.stdout


def test_the_tables_definition_fits_dynamodb() -> None:
    expected = table_definition("keyfence", load_domains().entities.projections)
    key_attributes = {one["AttributeName"] for one in expected["AttributeDefinitions"]}
    schemas = [expected["KeySchema"], *(index["KeySchema"] for index in expected["GlobalSecondaryIndexes"])]
    assert key_attributes == {part["AttributeName"] for schema in schemas for part in schema}
    assert [len(schema) for schema in schemas] == [2, 2, 2, 2]
    projected = [index["Projection"]["NonKeyAttributes"] for index in expected["GlobalSecondaryIndexes"]]
    assert all(1 <= len(names) == len(set(names)) <= 20 for names in projected), "20 is DynamoDB's limit for one index"
    assert sum(map(len, projected)) <= 100
    assert not key_attributes & {name for names in projected for name in names}
    assert expected["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert expected["BillingMode"] == "PAY_PER_REQUEST"
