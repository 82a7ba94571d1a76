"""The admin endpoint rejects the tokens of tenants, and the tenants' endpoint rejects the tokens of operators."""

from dataclasses import replace

import pytest

from keyfence.admin.schema import schema as admin_schema
from keyfence.auth.principal import Role
from keyfence_iam.tenant import TenantId
from tests.isolation.root_fields import RootFieldCall, root_field_calls
from tests.stack import ApiClient, ServiceStack

OPERATOR_CALLS = list(root_field_calls(admin_schema._schema))
TENANT_CALLS = list(root_field_calls())


async def error_code_of(client: ApiClient, field_call: RootFieldCall, tenant: TenantId) -> str:
    return await client.error_code(
        field_call.document, **field_call.variables(dict.fromkeys(field_call.argument_names, tenant))
    )


def test_the_admin_schema_has_fields() -> None:
    assert {field_call.operation for field_call in OPERATOR_CALLS} == {"query", "mutation"}


@pytest.mark.one_engine
@pytest.mark.parametrize("role", Role)
async def test_no_admin_field_accepts_a_tenants_token(stack: ServiceStack, tenant: TenantId, role: Role) -> None:
    caller = replace(stack.api_client(tenant, role), path="/admin/graphql")
    stack.take_calls()
    codes = {str(field_call): await error_code_of(caller, field_call, tenant) for field_call in OPERATOR_CALLS}
    assert codes == dict.fromkeys(codes, "UNAUTHENTICATED")
    assert stack.take_calls() == []


@pytest.mark.one_engine
async def test_no_tenant_field_accepts_an_operators_token(stack: ServiceStack, tenant: TenantId) -> None:
    caller = replace(stack.operator_client(), path="/graphql")
    stack.take_calls()
    codes = {str(field_call): await error_code_of(caller, field_call, tenant) for field_call in TENANT_CALLS}
    assert codes == dict.fromkeys(codes, "UNAUTHENTICATED")
    assert stack.take_calls() == []


@pytest.mark.one_engine
async def test_an_operators_token_that_names_a_tenant_is_accepted_by_neither_endpoint(
    stack: ServiceStack, tenant: TenantId
) -> None:
    token = stack.issuer._sign({"aud": "keyfence-admin", "sub": "x", "tenant": tenant, "role": "OWNER"}, 600, ())
    for path in ("/graphql", "/admin/graphql"):
        assert (
            await replace(stack.operator_client(), token=token, path=path).error_code("{ __typename }")
            == "UNAUTHENTICATED"
        )
