"""`ThroughputLimiter`: forwards a call if the limits of its partitions allow it; else answers as DynamoDB throttles."""

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from keyfence_iam.dynamodb.capacity import PartitionUnits, UnitsByPartition
from keyfence_iam.dynamodb.item_access import CallShape, ItemAccess, TableSchemas, find_item_access
from keyfence_iam.dynamodb.parameters import UnsupportedRequest
from keyfence_iam.dynamodb.table_schema import table_name
from keyfence_iam.gate.dynamodb_call import DynamoDBCall
from keyfence_iam.gate.engine.engine_client import EngineClient, forward
from keyfence_iam.gate.engine.items_before_write import ItemReader, ItemsBefore
from keyfence_iam.gate.engine.table_schema_cache import TableSchemaCache
from keyfence_iam.gate.http.messages import (
    DYNAMODB_NAMESPACE,
    HttpRequest,
    HttpResponse,
    ResponseError,
    dynamodb_error,
    json_response,
)
from keyfence_iam.gate.throughput import call_cost
from keyfence_iam.gate.throughput.call_cost import (
    CONSUMED,
    content_of,
    request_consumed_capacity,
    request_with_parameters,
    wants_consumed_capacity,
    with_content,
)
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits, ThrottledParts

UNPROCESSED = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}

_TABLE_MESSAGE = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_INDEX_MESSAGE = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded."
    " Consider increasing your provisioning level for the under-provisioned global secondary indexes with the"
    " UpdateTable API"
)
_CANCELLED_MESSAGE = "Transaction cancelled, please refer cancellation reasons for specific reasons"


class ThroughputLimiter:
    """Calls that use no partition are forwarded without limits; so are those of PartiQL."""

    def __init__(self, engine: EngineClient, region: str, schemas: TableSchemaCache) -> None:
        self._engine, self._schemas = engine, schemas
        self._reader = ItemReader(engine, region)

    async def forward(self, call: DynamoDBCall, limits: PartitionLimits) -> HttpResponse:
        tables = _tables(call)
        try:
            schemas = await self._schemas.find(tables)
        except UnsupportedRequest:  # a table without a string as its partition key; only a Scan of it gets this far
            return await forward(call.request, self._engine)
        if call.operation == "Scan":
            return await self._scan(call, limits, schemas)
        known = tables <= schemas.keys()
        access = find_item_access(call.operation, call.parameters, call.leading_keys, schemas) if known else None
        if access is None:
            return await forward(call.request, self._engine)
        return await self._forward_within_limits(call, limits, access)

    async def _forward_within_limits(
        self, call: DynamoDBCall, limits: PartitionLimits, access: ItemAccess
    ) -> HttpResponse:
        """Checks the table's partitions before it reads the items: a throttled call costs the engine nothing."""
        _raise_if_throttled(limits, access, limits.throttled([part.minimum_units for part in access.parts]))
        before = await self._reader.read(access.items_to_read)
        estimates = [write.units(before.get(write.target.identity)) for write in access.writes]
        estimates += [read.minimum_units for read in access.reads]
        throttled = limits.admit(access.shape, estimates)
        _raise_if_throttled(limits, access, throttled)
        limits.record_throttles(throttled)
        return await self._forward_admitted(call, limits, access.without_parts(throttled), estimates, before, throttled)

    async def _forward_admitted(
        self,
        call: DynamoDBCall,
        limits: PartitionLimits,
        access: ItemAccess,
        estimates: Sequence[UnitsByPartition],
        before: ItemsBefore,
        throttled: ThrottledParts,
    ) -> HttpResponse:
        """Replaces the units that were taken at admission by the real cost, also if the call fails."""
        admitted = [units for number, units in enumerate(estimates) if number not in throttled]
        cost: UnitsByPartition = ()
        try:
            response = await forward(_request(call, len(estimates), throttled), self._engine)
            content = content_of(response)
            cost = _cost(access, admitted, before, response, content)
        finally:
            limits.settle(admitted, cost)
        return _response_to_caller(call, response, content, throttled)

    async def _scan(self, call: DynamoDBCall, limits: PartitionLimits, schemas: TableSchemas) -> HttpResponse:
        """A scan is charged but never throttled: its partitions are known only from its response."""
        response = await forward(request_consumed_capacity(call.request, call.parameters), self._engine)
        content, table = content_of(response), table_name(call.parameters["TableName"])
        if response.status == 200 and table in schemas:
            limits.charge(call_cost.scan_cost(table, schemas[table], call.parameters, content))
        return _response_to_caller(call, response, content, {})


def select_requests(request_items: Mapping[str, Any], numbers: Container[int]) -> dict[str, Any]:
    """Returns the RequestItems of a batch with only the requests of these numbers, counted over all tables."""
    return dict(_select(request_items, numbers))


def merge_unprocessed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Joins two selections of the same batch."""
    merged = dict(first)
    for table, entry in second.items():
        merged[table] = _merge_entries(merged[table], entry) if table in merged else entry
    return merged


def throughput_exceeded(units: PartitionUnits) -> HttpResponse:
    return dynamodb_error("ProvisionedThroughputExceededException", _message(units))


def transaction_cancelled(throttled: ThrottledParts, items: int) -> HttpResponse:
    """The response has a reason for each item of the transaction, in their order."""
    reasons = [_cancellation_reason(throttled.get(number)) for number in range(items)]
    codes = ", ".join(reason["Code"] for reason in reasons)
    return json_response(
        {
            "__type": f"{DYNAMODB_NAMESPACE}TransactionCanceledException",
            "Message": f"{_CANCELLED_MESSAGE} [{codes}]",
            "CancellationReasons": reasons,
        },
        400,
    )


def _select(request_items: Mapping[str, Any], numbers: Container[int]) -> Iterator[tuple[str, Any]]:
    number = count()
    for table, entry in request_items.items():
        requests = entry if isinstance(entry, list) else entry["Keys"]
        if selected := [request for request in requests if next(number) in numbers]:
            yield table, selected if isinstance(entry, list) else {**entry, "Keys": selected}


def _merge_entries(first: Any, second: Any) -> Any:
    if isinstance(first, list):
        return [*first, *second]
    return {**first, "Keys": [*first["Keys"], *second["Keys"]]}


def _cancellation_reason(units: PartitionUnits | None) -> dict[str, str]:
    if units is None:
        return {"Code": "None"}
    return {"Code": "ProvisionedThroughputExceeded", "Message": _message(units)}


def _message(units: PartitionUnits) -> str:
    return _TABLE_MESSAGE if units.partition.index is None else _INDEX_MESSAGE


def _tables(call: DynamoDBCall) -> set[str]:
    """Returns the tables that the call names. A cached schema of a deleted table must not let the others pass.

    A Scan needs no schema for its authorization, so its table may not be among the call's schemas yet.
    """
    named = {_table_of(request.resource) for request in call.authorizations}
    return named if call.operation == "Scan" else named & set(call.schemas)


def _table_of(resource: str) -> str:
    return resource.partition(":table/")[2].partition("/")[0]


def _raise_if_throttled(limits: PartitionLimits, access: ItemAccess, throttled: ThrottledParts) -> None:
    """A batch continues as long as one part of it is admitted."""
    if not throttled or (access.shape is CallShape.BATCH and len(throttled) < len(access.parts)):
        return
    limits.record_throttles(throttled)
    if access.shape is CallShape.TRANSACTION:
        raise ResponseError(transaction_cancelled(throttled, len(access.parts)))
    raise ResponseError(throughput_exceeded(next(iter(throttled.values()))))


def _request(call: DynamoDBCall, parts: int, throttled: ThrottledParts) -> HttpRequest:
    if not throttled:
        return request_consumed_capacity(call.request, call.parameters)
    selected = select_requests(call.parameters["RequestItems"], set(range(parts)) - throttled.keys())
    return request_with_parameters(call.request, {**call.parameters, "RequestItems": selected})


def _cost(
    access: ItemAccess,
    admitted: Sequence[UnitsByPartition],
    before: ItemsBefore,
    response: HttpResponse,
    content: dict[str, Any],
) -> UnitsByPartition:
    if access.writes:
        return call_cost.write_cost(access.writes, admitted, before, response, content)
    return call_cost.read_cost(access.reads, before, content) if response.status == 200 else ()


def _response_to_caller(
    call: DynamoDBCall, response: HttpResponse, content: dict[str, Any], throttled: ThrottledParts
) -> HttpResponse:
    """Removes ConsumedCapacity if the caller did not request it, and adds throttled parts of a batch as unprocessed."""
    wants_consumed = wants_consumed_capacity(call.parameters)
    if response.status != 200 or not content or (wants_consumed and not throttled):
        return response
    shown = {name: value for name, value in content.items() if name != CONSUMED or wants_consumed}
    if throttled:
        name, unprocessed = UNPROCESSED[call.operation], select_requests(call.parameters["RequestItems"], throttled)
        shown[name] = merge_unprocessed(shown.get(name) or {}, unprocessed)
    return with_content(response, shown)
