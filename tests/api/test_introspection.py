"""Introspection is for tokens with the scope."""

import pytest

from keyfence.auth.principal import Role
from tests.stack import Session, World

QUESTIONS = ["{ __schema { types { name } } }", '{ __type(name: "User") { name } }']


@pytest.mark.parametrize("query", QUESTIONS)
async def test_introspection_needs_the_scope(world: World, owner: Session, query: str) -> None:
    assert await owner.refusal(query) == "FORBIDDEN"
    insider = world.session(owner.tenant, Role.VIEWER, scopes=("introspect",))
    assert await insider.ask(query)


async def test_an_unknown_field_is_answered_without_suggestions(owner: Session) -> None:
    answer = await owner.answer("{ usr { id } }")
    assert "Did you mean" not in str(answer)
