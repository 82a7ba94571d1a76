"""Every command that a page shows exists with its options, and every GraphQL query is valid."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from graphql import parse, validate
from typer.main import get_group

from keyfence.admin.schema import schema as admin_schema
from keyfence.app.domain_loading import load_domains
from keyfence.cli import app
from tests.docs.pages import DOCS, PAGES, README, blocks, name_of, prose

QUERY = re.compile(r'"query": "(.+?)"')
COMMAND = re.compile(r"uv run keyfence ((?:'[^']*'|\"[^\"]*\"|[^\n)>|&#'\"])*)")
MAX_README_WORDS = 900


def _tenant_commands() -> list[str]:
    group: Any = get_group(app).commands["tenant"]
    return list(group.commands)


def shell_code(page: Path) -> str:
    return "\n".join(blocks(page, "sh"))


def test_commands_have_the_options_that_pages_show() -> None:
    wrong = [
        problem for page in PAGES for line in COMMAND.findall(shell_code(page)) if (problem := _problem(page, line))
    ]
    assert wrong == []


def test_queries_are_valid_in_the_schema_of_tenants() -> None:
    schema = load_domains().schema._schema
    queries = [(name_of(page), query) for page in PAGES for query in QUERY.findall(shell_code(page))]
    assert len(queries) >= 2
    assert [(page, query) for page, query in queries if validate(schema, parse(query))] == []


def test_documents_are_valid_in_the_schema_of_operators() -> None:
    documents = [(name_of(page), document) for page in PAGES for document in blocks(page, "graphql")]
    assert len(documents) >= 4
    assert [(page, text) for page, text in documents if validate(admin_schema._schema, parse(text))] == []


@pytest.mark.parametrize("command", sorted(_tenant_commands()))
def test_the_page_about_tenants_names_every_command_about_tenants(command: str) -> None:
    text = (DOCS / "operate" / "tenants.md").read_text()
    assert f"tenant {command}" in text or f"`{command}`" in text


def test_the_front_page_is_short() -> None:
    assert len(prose(README).split()) < MAX_README_WORDS


def _problem(page: Path, line: str) -> str | None:
    """Returns what is wrong with a command line, or None."""
    command: Any = get_group(app)
    arguments = shlex.split(line)
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    try:
        command.make_context(line, arguments)
    except Exception as error:  # noqa: BLE001 - any error of the parser means that the page is wrong
        return f"{name_of(page)}: {line}: {error}"
    return None
