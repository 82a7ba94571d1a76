"""What a caller asks to have executed, and what is known about it before it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphql import OperationType


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQLRequest:
    """The parameters of one request, of the right types and otherwise unchecked."""

    query: str
    variables: Mapping[str, object] = field(default_factory=dict)
    operation_name: str | None = None
    extensions: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """What the context of a request is made from, besides its principal."""

    request_id: str
    kind: OperationType
    operation_name: str | None = None
    root: str | None = None
    """The one field that is asked for, where it is one."""

    @property
    def mutates(self) -> bool:
        return self.kind is OperationType.MUTATION
