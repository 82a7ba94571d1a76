"""A call of every root field, generated from the schema."""

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

DEPTH = 3
NUMBERS: Mapping[str, Any] = {
    "Int": 1,
    "Float": 1.5,
    "Boolean": True,
    "JSON": {"shelf": 3},
    "Decimal": "1.5",
    "DateTime": "2026-11-16T00:00:00Z",
}
"""Values for required arguments that are neither ids nor text."""
USUAL = frozenset({"MEMBER", "CONFIRMED", "STANDARD", "ACTIVE", "POOL"})
"""For each enum, a value with which a call can succeed."""
_types = load_domains().schema._schema


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
        head = ", ".join(f"${name}: {argument.type}" for name, argument in self.field.args.items())
        handed = ", ".join(f"{name}: ${name}" for name in self.field.args)
        call = f"{self.name}({handed})" if handed else self.name
        return f"{self.operation}{f'({head})' if head else ''} {{ {call} {selection(self.field.type, DEPTH)} }}"

    @property
    def names_things(self) -> bool:
        """Whether any argument is an id, at any depth."""
        return any(kind == "ID" for _, kind in _texts(self.field.args))

    @property
    def argument_names(self) -> list[str]:
        """The names of all arguments, at any depth, that are ids or text."""
        return sorted({name for name, _ in _texts(self.field.args)})

    def variables(self, given: Mapping[str, str]) -> dict[str, Any]:
        return {name: _value(name, argument.type, given) for name, argument in self.field.args.items()}


def root_field_calls(types: GraphQLSchema = _types) -> Iterator[RootFieldCall]:
    for operation, root in (("query", types.query_type), ("mutation", types.mutation_type)):
        assert root is not None
        yield from (RootFieldCall(operation, name, field) for name, field in root.fields.items())


def node_types() -> Sequence[GraphQLObjectType]:
    """Returns the types that the field `node` can return."""
    node = _types.type_map["Node"]
    assert isinstance(node, GraphQLInterfaceType)
    return _types.get_possible_types(node)


def selection(type_: Any, depth: int) -> str:
    """Returns a selection of all fields without required arguments, down to this depth."""
    named = get_named_type(type_)
    if is_leaf_type(named):
        return ""
    if isinstance(named, GraphQLObjectType):
        return f"{{ {_fields(named, depth)} }}"
    assert isinstance(named, GraphQLInterfaceType)
    return f"{{ __typename {_each(_types.get_possible_types(named))} }}"


def _fields(type_: GraphQLObjectType, depth: int) -> str:
    chosen = [
        f"{name} {selection(field.type, depth - 1)}"
        for name, field in type_.fields.items()
        if (depth > 0 or is_leaf_type(get_named_type(field.type))) and not _demands(field)
    ]
    return " ".join(["__typename", *chosen])


def _demands(field: GraphQLField) -> bool:
    return any(is_required_argument(argument) for argument in field.args.values())


def _each(types: Sequence[GraphQLObjectType]) -> str:
    """Returns fragments with the scalar fields of each type. A name with different types in two of them is left out."""
    meanings: dict[str, set[str]] = {}
    for one in types:
        for name, field in one.fields.items():
            meanings.setdefault(name, set()).add(str(field.type))
    clear = {name for name, found in meanings.items() if len(found) == 1}
    return " ".join(f"... on {one.name} {{ {_leaves(one, clear)} }}" for one in types)


def _leaves(type_: GraphQLObjectType, clear: set[str]) -> str:
    fields = type_.fields.items()
    return " ".join(name for name, field in fields if name in clear and is_leaf_type(get_named_type(field.type)))


def _texts(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, argument in arguments.items():
        named = get_named_type(argument.type)
        if isinstance(named, GraphQLInputObjectType):
            yield from _texts(named.fields)
        elif named.name in {"ID", "String"}:
            yield name, named.name


def _value(name: str, type_: Any, given: Mapping[str, str]) -> Any:
    bare = type_.of_type if isinstance(type_, GraphQLNonNull) else type_
    if is_list_type(bare):
        return [_value(name, bare.of_type, given)]
    if isinstance(bare, GraphQLInputObjectType):
        filled = {inner: _value(inner, part.type, given) for inner, part in bare.fields.items()}
        return {inner: value for inner, value in filled.items() if value is not None}
    if is_enum_type(bare):
        return next(value for value in bare.values if value in USUAL)
    if bare.name in {"ID", "String"}:
        return given[name]
    return NUMBERS[bare.name] if isinstance(type_, GraphQLNonNull) or name == "first" else None
