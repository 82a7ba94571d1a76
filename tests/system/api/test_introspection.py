"""Introspection is for tokens with the scope."""

import pytest

from keyfence.auth.principal import Role
from tests.stack import ApiClient, ServiceStack

QUESTIONS = ["{ __schema { types { name } } }", '{ __type(name: "User") { name } }']


@pytest.mark.parametrize("query", QUESTIONS)
async def test_introspection_needs_the_scope(stack: ServiceStack, owner: ApiClient, query: str) -> None:
    assert await owner.error_code(query) == "FORBIDDEN"
    insider = stack.api_client(owner.tenant, Role.VIEWER, scopes=("introspect",))
    assert await insider.data(query)


async def test_an_unknown_field_is_answered_without_suggestions(owner: ApiClient) -> None:
    answer = await owner.execute("{ usr { id } }")
    assert "Did you mean" not in str(answer)
