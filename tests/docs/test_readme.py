"""What the README tells a newcomer to type and to expect."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from graphql import parse, validate
from typer.main import get_group

from keyfence.app.domains import load_domains
from keyfence.cli import app
from keyfence.cli.dev_server import Welcome
from keyfence.local.issuer import LocalIssuer
from keyfence.settings import Settings
from tests.docs.pages import README, blocks, table

COMMANDS = re.findall(r"uv run keyfence ([^\n)>|&]*)", "\n".join(blocks(README, "sh")))
QUERIES = re.findall(r'"query": "(.+?)"', "\n".join(blocks(README, "sh")))


def shown(default: object) -> str:
    if default is None or default == ():
        return "unset" if default is None else "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def test_the_table_of_settings_names_every_setting_with_its_default() -> None:
    settings = {f"`KEYFENCE_{name.upper()}`": shown(field.default) for name, field in Settings.model_fields.items()}
    assert {name: default for name, default, _ in table(README, "variable")} == settings


def test_every_command_is_shown() -> None:
    assert {command.split()[0] for command in COMMANDS} == set(get_group(app).commands)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_has_the_options_that_it_is_shown_with(line: str) -> None:
    command: Any = get_group(app)
    arguments = shlex.split(line)
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    command.make_context(line, arguments)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_fits_the_schema(query: str) -> None:
    assert validate(load_domains().schema._schema, parse(query)) == []


def test_the_query_to_try_is_found() -> None:
    assert len(QUERIES) == 1


def test_the_greeting_is_the_one_that_is_printed() -> None:
    issuer = LocalIssuer(key=ec.generate_private_key(ec.SECP256R1()))
    engine = "dynoxide, with its data in .keyfence"
    said = Welcome(
        url="http://127.0.0.1:8000",
        gate="http://127.0.0.1:8001",
        engine=engine,
        issuer=issuer,
        data=Path("/path/to/keyfence/.keyfence"),
        command="uv run --project /path/to/keyfence keyfence",
    )
    (greeting,) = blocks(README, "text")
    assert str(said).startswith("\n" + greeting)
