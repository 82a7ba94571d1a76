"""keyfence schema and keyfence patterns print only the generated document."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

from tests.service.cli.conftest import Run

ROWS = [{"pattern": "users", "key": "TENANT#…"}]


@pytest.fixture(autouse=True)
def _fake_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    domains, report = ModuleType("keyfence.app.domain_loading"), ModuleType("keyfence.access_patterns.report")
    schema = SimpleNamespace(as_str=lambda: "type Query { a: Int }")
    vars(domains).update(load_domains=lambda _: SimpleNamespace(schema=schema))
    vars(report).update(as_rows=lambda _: ROWS, as_markdown=lambda _: "| pattern |\n|---|\n| users |\n")
    admin = ModuleType("keyfence.admin.schema")
    vars(admin).update(schema=SimpleNamespace(as_str=lambda: "type Query { b: Int }"))
    monkeypatch.setitem(sys.modules, "keyfence.app.domain_loading", domains)
    monkeypatch.setitem(sys.modules, "keyfence.admin.schema", admin)
    monkeypatch.setitem(sys.modules, "keyfence.access_patterns.report", report)


def test_the_schema_is_printed(run: Run) -> None:
    assert run("schema").stdout == "type Query { a: Int }\n"


def test_the_operators_schema_is_printed(run: Run) -> None:
    assert run("schema", "--admin").stdout == "type Query { b: Int }\n"


def test_patterns_are_printed_as_a_table(run: Run) -> None:
    assert run("patterns").stdout == "| pattern |\n|---|\n| users |\n"


@pytest.mark.parametrize("option", [["--format", "json"], ["--json"]], ids=" ".join)
def test_patterns_are_printed_as_json(run: Run, option: list[str]) -> None:
    assert json.loads(run("patterns", *option).stdout) == ROWS


def test_an_unknown_format_is_a_usage_error(run: Run) -> None:
    assert run("patterns", "--format", "xml").exit_code == 2
