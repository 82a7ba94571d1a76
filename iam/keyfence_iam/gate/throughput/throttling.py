"""`ThroughputLimiter`: throttles a call whose partitions have no capacity units left, and forwards other calls."""

from collections.abc import Sequence
from typing import Any

from keyfence_iam.dynamodb.capacity import UnitsByPartition
from keyfence_iam.dynamodb.item_access import CallShape, ItemAccess, TableSchemas, find_item_access
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest
from keyfence_iam.dynamodb.table_schema import table_name
from keyfence_iam.gate.dynamodb_call import DynamoDBCall
from keyfence_iam.gate.engine.engine_client import EngineClient, forward
from keyfence_iam.gate.engine.item_reader import ItemReader, ItemsBefore
from keyfence_iam.gate.engine.table_schema_cache import TableSchemaCache
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse, ResponseError, content_of, with_content
from keyfence_iam.gate.throughput import call_cost
from keyfence_iam.gate.throughput.call_cost import (
    CONSUMED_CAPACITY,
    request_consumed_capacity,
    request_with_parameters,
    wants_consumed_capacity,
)
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits, ThrottledParts
from keyfence_iam.gate.throughput.throttled_responses import (
    merge_request_items,
    select_requests,
    throughput_exceeded,
    transaction_cancelled,
)

UNPROCESSED_MEMBERS = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}
"""For each batch operation, the member of the response that lists the requests that were not executed."""


class ThroughputLimiter:
    """Forwards calls within the limits of partitions. A part of a call is one of its reads or writes.

    Calls that access no items, and calls with PartiQL statements, have no limits.
    """

    def __init__(self, engine: EngineClient, region: str, schemas: TableSchemaCache) -> None:
        self._engine, self._schemas = engine, schemas
        self._reader = ItemReader(engine, region)

    async def forward(self, call: DynamoDBCall, limits: PartitionLimits) -> HttpResponse:
        """Returns the response of the engine. Raises ResponseError if the call is throttled."""
        tables = _tables_with_limits(call)
        try:
            schemas = await self._schemas.find(tables)
        except UnsupportedRequest:
            # The partition key of the table is not a string. The gate denies every call to its items except Scan.
            return await forward(call.request, self._engine)
        if call.operation == "Scan":
            return await self._scan(call, limits, schemas)
        all_tables_exist = tables <= schemas.keys()
        if not all_tables_exist:
            return await forward(call.request, self._engine)
        access = find_item_access(call.operation, call.parameters, call.leading_keys, schemas)
        if access is None:
            return await forward(call.request, self._engine)
        return await self._forward_within_limits(call, limits, access)

    async def _forward_within_limits(
        self, call: DynamoDBCall, limits: PartitionLimits, access: ItemAccess
    ) -> HttpResponse:
        """Forwards the call if its partitions have units left. Raises ResponseError if the call is throttled.

        The limits are checked twice. The first check knows only the partitions of the table. It is made before stored
        items are read, so a call that it throttles costs the engine nothing. The second check also knows the partitions
        of indexes, because they depend on the stored items.
        """
        _raise_if_throttled(limits, access, limits.find_throttled([part.minimum_units for part in access.parts]))
        items_before = await self._reader.read(access.items_to_read)
        estimates = [write.units(items_before.get(write.target.identity)) for write in access.writes]
        estimates += [read.minimum_units for read in access.reads]
        throttled = limits.admit(access.shape, estimates)
        _raise_if_throttled(limits, access, throttled)
        limits.record_throttles(throttled)
        admitted_access = access.without_parts(throttled)
        return await self._forward_admitted(call, limits, admitted_access, estimates, items_before, throttled)

    async def _forward_admitted(
        self,
        call: DynamoDBCall,
        limits: PartitionLimits,
        admitted_access: ItemAccess,
        estimates: Sequence[UnitsByPartition],
        items_before: ItemsBefore,
        throttled: ThrottledParts,
    ) -> HttpResponse:
        """Forwards the admitted parts of a call, and replaces their estimated cost by the real cost.

        `estimates` has the cost of every part, including the throttled parts. If the engine does not respond, the call
        costs nothing.
        """
        admitted_estimates = [units for position, units in enumerate(estimates) if position not in throttled]
        cost: UnitsByPartition = ()
        try:
            request = _request_without_throttled(call, len(estimates), throttled)
            response = await forward(request, self._engine)
            content = content_of(response)
            cost = _real_cost(admitted_access, admitted_estimates, items_before, response, content)
        finally:
            limits.replace_estimates(admitted_estimates, cost)
        return _response_to_caller(call, response, content, throttled)

    async def _scan(self, call: DynamoDBCall, limits: PartitionLimits, schemas: TableSchemas) -> HttpResponse:
        """Forwards and charges a Scan. A Scan is never throttled: only its response shows which partitions it read."""
        response = await forward(request_consumed_capacity(call.request, call.parameters), self._engine)
        content, table = content_of(response), table_name(call.parameters["TableName"])
        if response.status == 200 and table in schemas:
            limits.charge(call_cost.scan_cost(table, schemas[table], call.parameters, content))
        return _response_to_caller(call, response, content, {})


def _tables_with_limits(call: DynamoDBCall) -> set[str]:
    """Returns the tables of a call that have limits.

    These are the tables whose schemas the authorization of the call needed, and the table of a Scan. A Scan is
    authorized without a schema.
    """
    tables = {_table_of_arn(request.resource) for request in call.authorizations}
    return tables if call.operation == "Scan" else tables & set(call.schemas)


def _table_of_arn(arn: str) -> str:
    return arn.partition(":table/")[2].partition("/")[0]


def _raise_if_throttled(limits: PartitionLimits, access: ItemAccess, throttled: ThrottledParts) -> None:
    """Raises ResponseError if a part of the call is throttled. A batch only fails if all its parts are throttled."""
    if not throttled or (access.shape is CallShape.BATCH and len(throttled) < len(access.parts)):
        return
    limits.record_throttles(throttled)
    if access.shape is CallShape.TRANSACTION:
        raise ResponseError(transaction_cancelled(throttled, len(access.parts)))
    raise ResponseError(throughput_exceeded(next(iter(throttled.values()))))


def _request_without_throttled(call: DynamoDBCall, part_count: int, throttled: ThrottledParts) -> HttpRequest:
    if not throttled:
        return request_consumed_capacity(call.request, call.parameters)
    selected = select_requests(call.parameters["RequestItems"], set(range(part_count)) - throttled.keys())
    return request_with_parameters(call.request, {**call.parameters, "RequestItems": selected})


def _real_cost(
    access: ItemAccess,
    estimates: Sequence[UnitsByPartition],
    items_before: ItemsBefore,
    response: HttpResponse,
    content: dict[str, Any],
) -> UnitsByPartition:
    if access.writes:
        return call_cost.write_cost(access.writes, estimates, items_before, response, content)
    return call_cost.read_cost(access.reads, items_before, content) if response.status == 200 else ()


def _response_to_caller(
    call: DynamoDBCall, response: HttpResponse, content: dict[str, Any], throttled: ThrottledParts
) -> HttpResponse:
    """Returns the response for the caller.

    ConsumedCapacity is removed if the caller did not request it. Throttled parts of a batch are added as unprocessed.
    """
    keeps_capacity = wants_consumed_capacity(call.parameters)
    if response.status != 200 or not content or (keeps_capacity and not throttled):
        return response
    changed_content = {name: value for name, value in content.items() if name != CONSUMED_CAPACITY or keeps_capacity}
    if throttled:
        member = UNPROCESSED_MEMBERS[call.operation]
        throttled_requests = select_requests(call.parameters["RequestItems"], throttled)
        changed_content[member] = merge_request_items(changed_content.get(member) or {}, throttled_requests)
    return with_content(response, changed_content)
