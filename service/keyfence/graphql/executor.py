"""`GraphQLExecutor`: prepares and executes requests. `FastScalarExecutor`: a faster way to resolve scalar fields.

Most fields of a list are scalars, and most of their cost in graphql-core is not the resolver but the code around it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import isawaitable
from operator import attrgetter
from typing import Any, TypeGuard, cast

import strawberry
from graphql import (
    ExecutionResult,
    Executor,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    OperationType,
    Undefined,
    get_nullable_type,
    is_leaf_type,
)
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField

from keyfence.errors import BadInput, KeyfenceError
from keyfence.graphql.document_cache import DocumentCache, Operation
from keyfence.graphql.error_masking import (
    InvalidRequest,
    RenderedError,
    render,
    render_field_error,
    render_request_error,
)
from keyfence.graphql.query_cost import check_cost
from keyfence.graphql.query_limits import QueryLimits, introspection_forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQLRequest:
    """The parameters of a request. Their types are checked, nothing else."""

    query: str
    variables: Mapping[str, object] = field(default_factory=dict)
    operation_name: str | None = None
    extensions: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """The part of a request from which its context is made, besides the caller."""

    request_id: str
    kind: OperationType
    operation_name: str | None = None
    root_field: str | None = None
    """Its only root field, or None if it has several."""

    @property
    def mutates(self) -> bool:
        return self.kind is OperationType.MUTATION


_is_awaitable = cast("Callable[[Any], TypeGuard[Awaitable[Any]]]", optimized_is_awaitable)


@dataclass(frozen=True, slots=True)
class PreparedOperation:
    """A valid operation that can be executed with a context."""

    operation: Operation
    executor: Executor[Any]


@dataclass(frozen=True, slots=True)
class GraphQLResult:
    """The result of an execution. `data` is None if an error made the root null."""

    data: Mapping[str, object] | None
    errors: tuple[RenderedError, ...] = ()

    def body(self, extensions: Mapping[str, object] | None = None) -> dict[str, object]:
        body: dict[str, object] = {"errors": self.errors, "data": self.data} if self.errors else {"data": self.data}
        return {**body, "extensions": extensions} if extensions else body


class GraphQLExecutor:
    """Executes requests with graphql-core, and parses each text once.

    It does not use `strawberry.Schema.execute`, which returns the same result for an invalid request and for one that
    failed, and which would parse and validate again.
    """

    def __init__(self, schema: strawberry.Schema, *, limits: QueryLimits | None = None) -> None:
        self.limits = limits or QueryLimits()
        self.documents = DocumentCache(schema._schema, limits=self.limits)
        self._schema = schema._schema
        self._executor_class = schema.execution_context_class

    def prepare(self, request: GraphQLRequest, *, introspection: bool = False) -> PreparedOperation:
        """Raises InvalidRequest, with all errors, if the request cannot be executed."""
        try:
            return self._prepare(request, introspection)
        except KeyfenceError as error:
            raise InvalidRequest([render(error, request_id="")]) from error

    async def execute(self, prepared: PreparedOperation, context: object, *, request_id: str) -> GraphQLResult:
        prepared.executor.context_value = context
        outcome = prepared.executor.execute_operation()
        result = await outcome if isawaitable(outcome) else outcome
        assert isinstance(result, ExecutionResult)
        return GraphQLResult(result.data, tuple(render_field_error(error, request_id) for error in result.errors or ()))

    def _prepare(self, request: GraphQLRequest, introspection: bool) -> PreparedOperation:
        document = self.documents.get(request.query)
        operation = document.operation(request.operation_name)
        if operation.kind is OperationType.SUBSCRIPTION:
            raise BadInput("subscriptions are not supported")
        if operation.introspects and not introspection:
            raise introspection_forbidden()
        executor = self._executor_class.build(
            self._schema,
            document.node,
            raw_variable_values=dict(request.variables),
            operation_name=request.operation_name,
            is_awaitable=_is_awaitable,
            hide_suggestions=True,
            operation_extensions=dict(request.extensions),
        )
        if isinstance(executor, list):
            raise InvalidRequest(map(render_request_error, executor))
        check_cost(operation.cost, executor.variable_values.coerced, self.limits)
        return PreparedOperation(operation, executor)


ScalarReader = Callable[[Any], Any]


class FastScalarExecutor(StrawberryGraphQLCoreExecutionContext):
    """Resolves scalar fields directly. If the value is null or an error is raised, graphql-core resolves the field."""

    def execute_field(
        self, parent_type: GraphQLObjectType, source: Any, field_details_list: Any, path: Any, position_context: Any
    ) -> Any:
        leaf = scalar_readers(self.schema).get((parent_type.name, field_details_list[0].node.name.value))
        if leaf is not None:
            try:
                value = leaf(source)
            except Exception:  # noqa: BLE001 - graphql-core resolves the field again and reports the error
                value = None
            if value is not None and value is not Undefined:
                return value
        return super().execute_field(parent_type, source, field_details_list, path, position_context)


@cache
def scalar_readers(schema: GraphQLSchema) -> Mapping[tuple[str, str], ScalarReader]:
    """Returns functions that read and serialize a scalar field, by type and field name."""
    types = [type_ for type_ in schema.type_map.values() if isinstance(type_, GraphQLObjectType)]
    return {(type_.name, name): leaf for type_ in types for name, leaf in _leaves(type_)}


def _leaves(type_: GraphQLObjectType) -> Iterator[tuple[str, ScalarReader]]:
    for name, member in type_.fields.items():
        named = get_nullable_type(member.type)
        read = _read(member)
        if read is not None and is_leaf_type(named):
            yield name, _serialized(read, named.coerce_output_value)


def _serialized(read: ScalarReader, serialize: ScalarReader) -> ScalarReader:
    def leaf(source: Any) -> Any:
        value = read(source)
        return None if value is None else serialize(value)

    return leaf


def _read(field: GraphQLField) -> ScalarReader | None:
    declared = (field.extensions or {}).get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(declared, StrawberryField):
        return None
    if declared.is_basic_field:
        return attrgetter(declared.python_name)
    resolver = declared.base_resolver
    if resolver is None or resolver.is_async or declared.arguments or resolver.info_parameter or declared.extensions:
        return None
    return cast("ScalarReader", resolver.wrapped_func)
