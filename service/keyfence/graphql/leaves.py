"""Leaf fields that are plain attributes or pure methods, read without the ceremony of a resolver.

Most fields of a list are such leaves, and most of what execution costs is what surrounds a resolver's call.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, cast

from graphql import (
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
    get_nullable_type,
    is_leaf_type,
)
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField

Leaf = Callable[[Any], Any]


class LeafExecutor(StrawberryGraphQLCoreExecutionContext):
    """An executor that reads leaves at once; whatever is null or fails goes the long way, which knows what to do."""

    def execute_field(
        self, parent_type: GraphQLObjectType, source: Any, field_details_list: Any, path: Any, position_context: Any
    ) -> Any:
        leaf = leaves(self.schema).get((parent_type.name, field_details_list[0].node.name.value))
        if leaf is not None:
            try:
                value = leaf(source)
            except Exception:  # noqa: BLE001 - it is raised again, and reported, on the long way
                value = None
            if value is not None and value is not Undefined:
                return value
        return super().execute_field(parent_type, source, field_details_list, path, position_context)


@cache
def leaves(schema: GraphQLSchema) -> Mapping[tuple[str, str], Leaf]:
    """By type and field, how to read and to spell the value."""
    types = [type_ for type_ in schema.type_map.values() if isinstance(type_, GraphQLObjectType)]
    return {(type_.name, name): leaf for type_ in types for name, leaf in _leaves(type_)}


def _leaves(type_: GraphQLObjectType) -> Iterator[tuple[str, Leaf]]:
    for name, field in type_.fields.items():
        named = get_nullable_type(field.type)
        read = _read(field)
        if read is not None and is_leaf_type(named):
            yield name, _spelled(read, named.coerce_output_value)


def _spelled(read: Leaf, spell: Leaf) -> Leaf:
    def leaf(source: Any) -> Any:
        value = read(source)
        return None if value is None else spell(value)

    return leaf


def _read(field: GraphQLField) -> Leaf | None:
    declared = (field.extensions or {}).get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(declared, StrawberryField):
        return None
    if declared.is_basic_field:
        return attrgetter(declared.python_name)
    resolver = declared.base_resolver
    if resolver is None or resolver.is_async or declared.arguments or resolver.info_parameter or declared.extensions:
        return None
    return cast("Leaf", resolver.wrapped_func)
