"""`RootFieldCall`: a GraphQL document for every root field, generated from the schema."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    is_enum_type,
    is_leaf_type,
    is_list_type,
    is_required_argument,
)

from keyfence.app.domain_loading import load_domains

SELECTION_DEPTH = 3
VALUE_BY_SCALAR: Mapping[str, Any] = {
    "Int": 1,
    "Float": 1.5,
    "Boolean": True,
    "JSON": {"shelf": 3},
    "Decimal": "1.5",
    "DateTime": "2026-11-16T00:00:00Z",
}
"""The values of required arguments that are neither ids nor text, by the name of their scalar."""
USABLE_ENUM_VALUES = frozenset({"MEMBER", "CONFIRMED", "STANDARD", "ACTIVE", "POOL"})
"""One value of each enum with which a call can succeed."""
_tenant_schema = load_domains().schema._schema


@dataclass(frozen=True, slots=True)
class RootFieldCall:
    """A root field that can be called with any values for its ids and text arguments."""

    operation: str
    name: str
    field: GraphQLField

    def __str__(self) -> str:
        return f"{self.operation} {self.name}"

    @property
    def document(self) -> str:
        declarations = ", ".join(f"${name}: {argument.type}" for name, argument in self.field.args.items())
        arguments = ", ".join(f"{name}: ${name}" for name in self.field.args)
        call = f"{self.name}({arguments})" if arguments else self.name
        variables = f"({declarations})" if declarations else ""
        return f"{self.operation}{variables} {{ {call} {selection(self.field.type, SELECTION_DEPTH)} }}"

    @property
    def has_id_argument(self) -> bool:
        """Whether any argument is an id, at any depth."""
        return any(kind == "ID" for _, kind in _id_and_text_arguments(self.field.args))

    @property
    def argument_names(self) -> list[str]:
        """The names of all arguments, at any depth, that are ids or text."""
        return sorted({name for name, _ in _id_and_text_arguments(self.field.args)})

    def variables(self, value_by_name: Mapping[str, str]) -> dict[str, Any]:
        return {name: _value(name, argument.type, value_by_name) for name, argument in self.field.args.items()}


def root_field_calls(schema: GraphQLSchema = _tenant_schema) -> Iterator[RootFieldCall]:
    for operation, root in (("query", schema.query_type), ("mutation", schema.mutation_type)):
        assert root is not None
        yield from (RootFieldCall(operation, name, field) for name, field in root.fields.items())


def node_types() -> Sequence[GraphQLObjectType]:
    """Returns the types that the field `node` can return."""
    node = _tenant_schema.type_map["Node"]
    assert isinstance(node, GraphQLInterfaceType)
    return _tenant_schema.get_possible_types(node)


def selection(type_: Any, depth: int) -> str:
    """Returns a selection of all fields without required arguments, down to this depth."""
    named_type = get_named_type(type_)
    if is_leaf_type(named_type):
        return ""
    if isinstance(named_type, GraphQLObjectType):
        return f"{{ {_fields(named_type, depth)} }}"
    assert isinstance(named_type, GraphQLInterfaceType)
    return f"{{ __typename {_fragments_of(_tenant_schema.get_possible_types(named_type))} }}"


def _fields(type_: GraphQLObjectType, depth: int) -> str:
    selections = [
        f"{name} {selection(field.type, depth - 1)}"
        for name, field in type_.fields.items()
        if (depth > 0 or is_leaf_type(get_named_type(field.type))) and not _has_required_argument(field)
    ]
    return " ".join(["__typename", *selections])


def _has_required_argument(field: GraphQLField) -> bool:
    return any(is_required_argument(argument) for argument in field.args.values())


def _fragments_of(types: Sequence[GraphQLObjectType]) -> str:
    """Returns a fragment for each type with its scalar fields.

    A field that has different types in two of the fragments is left out, because GraphQL cannot merge it."""
    types_by_name: dict[str, set[str]] = {}
    for type_ in types:
        for name, field in type_.fields.items():
            types_by_name.setdefault(name, set()).add(str(field.type))
    unambiguous_names = {name for name, types_of_field in types_by_name.items() if len(types_of_field) == 1}
    return " ".join(f"... on {type_.name} {{ {_scalar_fields(type_, unambiguous_names)} }}" for type_ in types)


def _scalar_fields(type_: GraphQLObjectType, unambiguous_names: set[str]) -> str:
    fields = type_.fields.items()
    return " ".join(
        name for name, field in fields if name in unambiguous_names and is_leaf_type(get_named_type(field.type))
    )


def _id_and_text_arguments(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, argument in arguments.items():
        named_type = get_named_type(argument.type)
        if isinstance(named_type, GraphQLInputObjectType):
            yield from _id_and_text_arguments(named_type.fields)
        elif named_type.name in {"ID", "String"}:
            yield name, named_type.name


def _value(name: str, type_: Any, value_by_name: Mapping[str, str]) -> Any:
    nullable_type = type_.of_type if isinstance(type_, GraphQLNonNull) else type_
    if is_list_type(nullable_type):
        return [_value(name, nullable_type.of_type, value_by_name)]
    if isinstance(nullable_type, GraphQLInputObjectType):
        values = {field: _value(field, part.type, value_by_name) for field, part in nullable_type.fields.items()}
        return {field: value for field, value in values.items() if value is not None}
    if is_enum_type(nullable_type):
        return next(value for value in nullable_type.values if value in USABLE_ENUM_VALUES)
    if nullable_type.name in {"ID", "String"}:
        return value_by_name[name]
    return VALUE_BY_SCALAR[nullable_type.name] if isinstance(type_, GraphQLNonNull) or name == "first" else None
