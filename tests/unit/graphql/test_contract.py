"""What the schema has in common with the contract is spelled as the contract spells it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from graphql import (
    DocumentNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    InputObjectTypeDefinitionNode,
    InputValueDefinitionNode,
    InterfaceTypeDefinitionNode,
    ObjectTypeDefinitionNode,
    parse,
    print_ast,
)

from service.graphql.schema import schema

CONTRACT = parse((Path(__file__).parents[2] / "cases" / "contract.graphql").read_text())
OURS = parse(schema.as_str())
Shaped = ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode | InputObjectTypeDefinitionNode


def shapes(document: DocumentNode) -> dict[str, str]:
    """Every field and argument by its path, with its type and default."""
    return dict(
        line
        for node in document.definitions
        if isinstance(node, Shaped)
        for field in node.fields or ()
        for line in _lines(f"{node.name.value}.{field.name.value}", field)
    )


def _lines(path: str, field: FieldDefinitionNode | InputValueDefinitionNode) -> Iterator[tuple[str, str]]:
    yield path, _type(field)
    for argument in getattr(field, "arguments", None) or ():
        yield f"{path}({argument.name.value})", _type(argument)


def _type(node: FieldDefinitionNode | InputValueDefinitionNode) -> str:
    default = getattr(node, "default_value", None)
    shown = print_ast(default) if default is not None else "null"
    return print_ast(node.type) + ("" if shown == "null" else f" = {shown}")


def values(document: DocumentNode) -> dict[str, set[str]]:
    return {
        node.name.value: {value.name.value for value in node.values or ()}
        for node in document.definitions
        if isinstance(node, EnumTypeDefinitionNode)
    }


AGREED, MADE = shapes(CONTRACT), shapes(OURS)


@pytest.mark.parametrize("path", sorted(MADE.keys() & AGREED.keys()))
def test_a_field_of_the_contract_has_the_contracts_type(path: str) -> None:
    assert MADE[path] == AGREED[path]


def test_all_of_the_contract_is_there() -> None:
    assert AGREED.keys() - MADE.keys() == set()


def test_enums_agree() -> None:
    agreed = values(CONTRACT)
    assert {name: found for name, found in values(OURS).items() if name in agreed} == {
        name: agreed[name] for name in values(OURS) if name in agreed
    }
