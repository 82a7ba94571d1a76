"""Random documents to the operators' API: an operator causes no internal error, a tenant is never authenticated."""

import json
from dataclasses import replace

import pytest

from keyfence.admin.schema import schema as admin_schema
from keyfence.app.domain_loading import load_domains
from keyfence.auth.principal import Role
from tests import tier
from tests.failures.tenant_snapshot import TenantItems
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.isolation.fuzz.argument_values import ArgumentValues
from tests.isolation.fuzz.canary_tenant import create_canary_tenant
from tests.isolation.fuzz.document_fuzzer import DocumentFuzzer
from tests.isolation.fuzz.random_documents import random_request
from tests.isolation.fuzz.request_sender import send
from tests.random_run import RandomRun
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine

SCHEMA = admin_schema._schema
DOCUMENTS = tier.size(default=40, full=300)


async def operators_values(stack: ServiceStack) -> dict[str, list[str]]:
    """Returns values that an operator knows, by the name of an argument."""
    tenants = [await stack.new_tenant() for _ in range(3)]
    issuers = [f"https://id{number}.example" for number in range(20)]
    providers = [TenantIdentityProvider(issuer=issuer) for issuer in issuers[:3]]
    return {
        "id": [*tenants * 4, *(f"{tenants[0]}-{number}" for number in range(6))],
        "tenant": [*tenants, "-"],
        "confirm": list(tenants),
        "collection": list(load_domains().entities.collections.shardings),
        "issuer": issuers,
        "jwks": [json.dumps(provider.jwks()) for provider in providers],
        "jwksUri": ["https://keys.example/jwks", "https://127.0.0.1/", "https://[::1]/", "http://keys.example/"],
        "email": ["owner@x.example"],
        "after": [],
    }


@pytest.mark.parametrize("operation", ["query", "mutation"])
async def test_no_document_of_an_operator_causes_an_internal_error_or_shows_items_of_a_tenant(
    stack: ServiceStack, operation: str
) -> None:
    run = RandomRun.from_environment("FUZZ", DOCUMENTS)
    tenant = await create_canary_tenant(stack, f"globex{operation[0]}", "g")
    values = await operators_values(stack)
    fuzzer = DocumentFuzzer(
        stack=stack,
        schema=SCHEMA,
        run=run,
        clients=[stack.operator_client()],
        own=values,
        neighbour=replace(tenant, values=values, secrets=tenant.secrets[:-1]),
    )
    before = TenantItems.of(stack, tenant.client.tenant).snapshot()
    await fuzzer.run_cases(operation)
    assert fuzzer.problems == []
    assert TenantItems.of(stack, tenant.client.tenant).snapshot() == before
    assert fuzzer.outcomes["data"] > run.examples / 40, fuzzer.outcomes


@pytest.mark.parametrize("role", Role)
async def test_no_document_with_a_tenants_token_is_accepted_by_the_operators_api(
    stack: ServiceStack, role: Role
) -> None:
    run = RandomRun.from_environment("FUZZ", DOCUMENTS)
    client = replace(stack.api_client(await stack.new_tenant(), role), path="/admin/graphql")
    values = await operators_values(stack)
    stack.take_calls()
    for case in range(run.examples // len(Role)):
        random = run.random_of(f"{role}/{case}")
        request = random_request(
            SCHEMA, random.choice(("query", "mutation")), ArgumentValues(random, values, values, 0.1)
        )
        response = await send(client, request, random)
        assert (response.status, response.codes()) == (401, ["UNAUTHENTICATED"]), (str(run), case, request)
    assert stack.take_calls() == []
