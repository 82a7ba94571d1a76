"""The admin endpoint accepts no tenant's token, and the tenants' endpoint no operator's."""

from dataclasses import replace

import pytest

from keyfence.admin.schema import schema as operators
from keyfence.auth.principal import Role
from keyfence_iam.tenant import TenantId
from tests.isolation.root_fields import RootFieldCall, root_field_calls
from tests.stack import ApiClient, ServiceStack

ASKED_OF_OPERATORS = list(root_field_calls(operators._schema))
ASKED_OF_TENANTS = list(root_field_calls())


async def refused(session: ApiClient, question: RootFieldCall, tenant: TenantId) -> str:
    return await session.error_code(
        question.document, **question.variables(dict.fromkeys(question.argument_names, tenant))
    )


def test_the_admin_schema_has_fields() -> None:
    assert {question.operation for question in ASKED_OF_OPERATORS} == {"query", "mutation"}


@pytest.mark.one_engine
@pytest.mark.parametrize("role", Role)
async def test_no_admin_field_accepts_a_tenants_token(stack: ServiceStack, tenant: TenantId, role: Role) -> None:
    intruder = replace(stack.api_client(tenant, role), path="/admin/graphql")
    stack.take_calls()
    codes = {str(question): await refused(intruder, question, tenant) for question in ASKED_OF_OPERATORS}
    assert codes == dict.fromkeys(codes, "UNAUTHENTICATED")
    assert stack.take_calls() == []


@pytest.mark.one_engine
async def test_no_tenant_field_accepts_an_operators_token(stack: ServiceStack, tenant: TenantId) -> None:
    intruder = replace(stack.operator_client(), path="/graphql")
    stack.take_calls()
    codes = {str(question): await refused(intruder, question, tenant) for question in ASKED_OF_TENANTS}
    assert codes == dict.fromkeys(codes, "UNAUTHENTICATED")
    assert stack.take_calls() == []


@pytest.mark.one_engine
async def test_an_operators_token_that_names_a_tenant_is_accepted_by_neither_endpoint(
    stack: ServiceStack, tenant: TenantId
) -> None:
    both = stack.issuer._sign({"aud": "keyfence-admin", "sub": "x", "tenant": tenant, "role": "OWNER"}, 600, ())
    for path in ("/graphql", "/admin/graphql"):
        assert (
            await replace(stack.operator_client(), token=both, path=path).error_code("{ __typename }")
            == "UNAUTHENTICATED"
        )
