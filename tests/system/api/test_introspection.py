"""Only a token with the scope `introspect` can read the schema."""

import pytest

from keyfence.auth.principal import Role
from tests.stack import ApiClient, ServiceStack

INTROSPECTION_QUERIES = ["{ __schema { types { name } } }", '{ __type(name: "User") { name } }']


@pytest.mark.parametrize("query", INTROSPECTION_QUERIES)
async def test_introspection_needs_the_scope(stack: ServiceStack, owner: ApiClient, query: str) -> None:
    assert await owner.error_code(query) == "FORBIDDEN"
    client_with_scope = stack.api_client(owner.tenant, Role.VIEWER, scopes=("introspect",))
    assert await client_with_scope.data(query)


async def test_an_unknown_field_is_answered_without_suggestions(owner: ApiClient) -> None:
    answer = await owner.execute("{ usr { id } }")
    assert "Did you mean" not in str(answer)
