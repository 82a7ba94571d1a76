"""A key that `keyfence jwks` creates onboards a tenant on a laptop, and no tenant on AWS."""

import asyncio
import inspect
import json
import re
import shlex
from pathlib import Path

import pytest

from keyfence.cli.credentials import jwks
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles.names import SERVICE_BASE
from keyfence_iam.tenant import parse_tenant_id
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.stack import ApiClient, ServiceStack
from tests.system.commands.command_runner import run, use_role_on_aws

REFUSAL = "is a development key"

pytestmark = pytest.mark.usefixtures("terminal")


def commands_of_help() -> list[list[str]]:
    """Returns the commands that the help shows, in paragraphs that are indented."""
    text = inspect.cleandoc(jwks.__doc__ or "")
    return [shlex.split(paragraph) for paragraph in re.split(r"\n\n", text) if paragraph.startswith("  keyfence ")]


def test_the_commands_in_the_help_onboard_a_tenant(stack: ServiceStack) -> None:
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


@pytest.fixture
def on_aws(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    use_role_on_aws(gate, SERVICE_BASE, monkeypatch)


def issuer_of(tenant: str) -> str:
    return f"https://id.{tenant}.example"


def onboard(tenant: str, key_set: str) -> tuple[int, str, str]:
    owner = ("--owner-email", f"owner@{tenant}.example", "--owner-name", "First Owner")
    names = ("--name", tenant, "--issuer", issuer_of(tenant))
    return run("tenant", "onboard", tenant, *names, *owner, "--jwks", "-", stdin=key_set)


def development_key_set(tenant: str) -> str:
    return run("jwks", "--issuer", issuer_of(tenant))[1]


@pytest.mark.usefixtures("on_aws")
def test_onboarding_on_aws_refuses_a_development_key() -> None:
    code, out, error = onboard("umbrella", development_key_set("umbrella"))
    assert (code, out) == (1, "")
    assert REFUSAL in error
    assert "does not exist" in run("tenant", "show", "umbrella")[2]


@pytest.mark.usefixtures("on_aws")
def test_changing_keys_on_aws_refuses_a_development_key() -> None:
    provider = TenantIdentityProvider(issuer=issuer_of("hooli"))
    assert onboard("hooli", json.dumps(provider.jwks()))[0] == 0
    code, out, error = run("tenant", "keys", "hooli", "--jwks", "-", stdin=development_key_set("hooli"))
    assert (code, out) == (1, "")
    assert REFUSAL in error
