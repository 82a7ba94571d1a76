"""Each schema has the types and fields of its contract in `tests/cases`."""

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

from keyfence.admin.schema import schema as admin_schema
from keyfence.app.domain_loading import load_domains

CASES = Path(__file__).parents[2] / "cases"
CONTRACTS = {
    "tenants": (parse((CASES / "contract.graphql").read_text()), parse(load_domains().schema.as_str())),
    "operators": (parse((CASES / "contract-admin.graphql").read_text()), parse(admin_schema.as_str())),
}
TypeWithFields = ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode | InputObjectTypeDefinitionNode


def types_by_path(document: DocumentNode) -> dict[str, str]:
    """Returns the type and default of every field and argument, by its path."""
    return dict(
        line
        for node in document.definitions
        if isinstance(node, TypeWithFields)
        for field in node.fields or ()
        for line in _lines(f"{node.name.value}.{field.name.value}", field)
    )


def _lines(path: str, field: FieldDefinitionNode | InputValueDefinitionNode) -> Iterator[tuple[str, str]]:
    yield path, _type(field)
    for argument in getattr(field, "arguments", None) or ():
        yield f"{path}({argument.name.value})", _type(argument)


def _type(node: FieldDefinitionNode | InputValueDefinitionNode) -> str:
    default = getattr(node, "default_value", None)
    default_text = print_ast(default) if default is not None else "null"
    return print_ast(node.type) + ("" if default_text == "null" else f" = {default_text}")


def enum_values(document: DocumentNode) -> dict[str, set[str]]:
    return {
        node.name.value: {value.name.value for value in node.values or ()}
        for node in document.definitions
        if isinstance(node, EnumTypeDefinitionNode)
    }


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_field_of_the_contract_has_the_contracts_type(name: str) -> None:
    contract, schema = map(types_by_path, CONTRACTS[name])
    shared = schema.keys() & contract.keys()
    assert {path: schema[path] for path in shared} == {path: contract[path] for path in shared}


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_schema_has_every_field_of_the_contract(name: str) -> None:
    contract, schema = CONTRACTS[name]
    assert types_by_path(contract).keys() - types_by_path(schema).keys() == set()


@pytest.mark.parametrize("name", CONTRACTS)
def test_an_enum_has_the_values_of_the_contract(name: str) -> None:
    contract, schema = map(enum_values, CONTRACTS[name])
    shared = schema.keys() & contract.keys()
    assert {enum: schema[enum] for enum in shared} == {enum: contract[enum] for enum in shared}
