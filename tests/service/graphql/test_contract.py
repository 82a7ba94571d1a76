"""The schemas have the types and fields of the contracts."""

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

from keyfence.admin.schema import schema as operators
from keyfence.app.domain_loading import load_domains

CASES = Path(__file__).parents[2] / "cases"
CONTRACTS = {
    "tenants": (parse((CASES / "contract.graphql").read_text()), parse(load_domains().schema.as_str())),
    "operators": (parse((CASES / "contract-admin.graphql").read_text()), parse(operators.as_str())),
}
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


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_field_of_the_contract_has_the_contracts_type(name: str) -> None:
    contract, ours = map(shapes, CONTRACTS[name])
    shared = ours.keys() & contract.keys()
    assert {path: ours[path] for path in shared} == {path: contract[path] for path in shared}


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_schema_has_every_field_of_the_contract(name: str) -> None:
    contract, ours = CONTRACTS[name]
    assert shapes(contract).keys() - shapes(ours).keys() == set()


@pytest.mark.parametrize("name", CONTRACTS)
def test_enums_agree(name: str) -> None:
    contract, ours = map(values, CONTRACTS[name])
    assert {one: found for one, found in ours.items() if one in contract} == {
        one: contract[one] for one in ours if one in contract
    }
