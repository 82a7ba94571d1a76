"""Authorization requests of operations on single items, and of Query and Scan."""

from collections.abc import Iterable, Iterator

from keyfence_iam.authorization.leading_keys import query_leading_keys
from keyfence_iam.authorization.named_tables import TableResolver, resource_arn
from keyfence_iam.authorization.request_condition_keys import return_consumed_capacity_key
from keyfence_iam.dynamodb.attributes import changed_attributes, has_projection, mentioned_attributes
from keyfence_iam.dynamodb.request_parameters import Parameters, attributes, choice, optional_string, string
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

_SELECT_VALUES = frozenset({"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"})
_RETURN_VALUES = frozenset({"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"})


def get_item(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    table = tables.get(string(call, "TableName"))
    context = {
        **table.leading_keys([attributes(call, "Key")]),
        **mentioned_attributes_key(call),
        **select_key(call),
        **return_consumed_capacity_key(call),
    }
    yield AuthorizationRequest("dynamodb:GetItem", table.arn, context)


def query(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    """Yields one request. If the call queries an index, the request has the ARN and the partition key of the index."""
    table, index = tables.get(string(call, "TableName")), optional_string(call, "IndexName")
    context = {
        **mentioned_attributes_key(call),
        **(query_leading_keys(call, table.schema.partition_attributes(index)) if table.schema else {}),
        **select_key(call, index),
        **return_consumed_capacity_key(call),
    }
    yield AuthorizationRequest("dynamodb:Query", resource_arn(table.arn, index), context)


def scan(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    """Yields a request without leading keys, since a Scan returns items of every partition."""
    table_arn, index = tables.arn(string(call, "TableName")), optional_string(call, "IndexName")
    context = {**mentioned_attributes_key(call), **select_key(call, index), **return_consumed_capacity_key(call)}
    yield AuthorizationRequest("dynamodb:Scan", resource_arn(table_arn, index), context)


def put_item(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    yield _write("PutItem", call, "Item", tables)


def update_item(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    tables.get(string(call, "TableName")).reject_key_update(changed_attributes(call))
    yield _write("UpdateItem", call, "Key", tables)


def delete_item(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    yield _write("DeleteItem", call, "Key", tables)


def attributes_key(names: Iterable[str]) -> dict[str, ContextValue]:
    """Returns the condition key `dynamodb:Attributes` with each name once, or an empty dict if there are no names."""
    unique = tuple(dict.fromkeys(names))
    return {"dynamodb:Attributes": unique} if unique else {}


def mentioned_attributes_key(call: Parameters) -> dict[str, ContextValue]:
    return attributes_key(mentioned_attributes(call))


def select_key(call: Parameters, index: str | None = None) -> dict[str, ContextValue]:
    """Returns the condition key `dynamodb:Select`. A call without `Select` gets the default of DynamoDB."""
    whole_items = "ALL_ATTRIBUTES" if index is None else "ALL_PROJECTED_ATTRIBUTES"
    default = "SPECIFIC_ATTRIBUTES" if has_projection(call) else whole_items
    return {"dynamodb:Select": choice(call, "Select", _SELECT_VALUES, default)}


def _write(operation: str, call: Parameters, item_parameter: str, tables: TableResolver) -> AuthorizationRequest:
    table = tables.get(string(call, "TableName"))
    context = {
        **table.leading_keys([attributes(call, item_parameter)]),
        **mentioned_attributes_key(call),
        "dynamodb:ReturnValues": choice(call, "ReturnValues", _RETURN_VALUES, "NONE"),
        **return_consumed_capacity_key(call),
    }
    return AuthorizationRequest(f"dynamodb:{operation}", table.arn, context)
