"""What is asked for right below the field that is being resolved, so that it can be read along with it."""

from collections.abc import Mapping
from typing import Any

from strawberry.types.nodes import convert_arguments

from keyfence.graphql.context import Info
from keyfence.graphql.selections import children, fields


def requested_subfields(info: Info, name: str) -> list[Mapping[str, Any]]:
    """The arguments of each selection of this field, numbers as text where they stand in the document."""
    raw = info._raw_info
    below = fields(children(raw.field_nodes), raw.fragments)
    return [convert_arguments(raw, node.arguments) for _, node in below if node.name.value == name]
