"""The commands in the help of keyfence jwks onboard a tenant on a laptop, as they are written there."""

import asyncio
import inspect
import re
import shlex
from pathlib import Path

import pytest

from keyfence.cli.credentials import jwks
from keyfence_iam.tenant import parse_tenant_id
from tests.stack import ApiClient, ServiceStack
from tests.system.commands.command_runner import run

pytestmark = pytest.mark.usefixtures("terminal")


def commands_of_help() -> list[list[str]]:
    """Returns the commands that the help shows, in paragraphs that are indented."""
    text = inspect.cleandoc(jwks.__doc__ or "")
    return [shlex.split(paragraph) for paragraph in re.split(r"\n\n", text) if paragraph.startswith("  keyfence ")]


def test_the_commands_of_the_help_work_as_written(stack: ServiceStack) -> None:
    create, onboard, token = commands_of_help()
    assert create[-2:] == [">", "keys.json"]
    code, key_set, _ = run(*create[1:-2])
    assert code == 0
    Path("keys.json").write_text(key_set)
    code, out, error = run(*onboard[1:])
    assert (code, error) == (0, "")
    assert out.startswith("initech is onboarded: ")
    code, printed, _ = run(*token[1:])
    assert code == 0
    session = ApiClient(stack.serve(), printed.strip(), parse_tenant_id("initech"))
    answer = asyncio.run(session.execute("{ viewer { role tenant { id } } }"))
    assert answer == {"data": {"viewer": {"role": "MEMBER", "tenant": {"id": "initech"}}}}
