"""Computes the capacity units that a call cost, from the response of the engine.

Also changes requests so that the response has the consumed capacity.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from keyfence_iam.dynamodb.capacity import (
    Partition,
    PartitionUnits,
    UnitsByPartition,
    consumed_total,
    consumed_units,
    read_units,
)
from keyfence_iam.dynamodb.item_costs import ItemRead, ItemWrite, returns_whole_items
from keyfence_iam.dynamodb.item_size import item_size
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.gate.engine.item_reader import ItemsBefore
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse, without_compression

RETURN_CONSUMED_CAPACITY = "ReturnConsumedCapacity"
CONSUMED_CAPACITY = "ConsumedCapacity"

JsonObject = Mapping[str, Any]
"""A JSON object: the body of a response, or the parameters of a call."""


def wants_consumed_capacity(parameters: JsonObject) -> bool:
    return parameters.get(RETURN_CONSUMED_CAPACITY) not in {None, "NONE"}


def request_consumed_capacity(request: HttpRequest, parameters: JsonObject) -> HttpRequest:
    """Returns the request with ReturnConsumedCapacity, and without the header that allows a compressed response.

    If the parameter is missing, it is inserted at the beginning of the body. The other bytes of the body do not change.
    The gate reads the response, so the response must not be compressed.
    """
    request = without_compression(request)
    if RETURN_CONSUMED_CAPACITY not in parameters:
        body = b'{"%s":"TOTAL",' % RETURN_CONSUMED_CAPACITY.encode() + request.body[request.body.index(b"{") + 1 :]
    elif wants_consumed_capacity(parameters):
        body = request.body
    else:
        body = orjson.dumps({**parameters, RETURN_CONSUMED_CAPACITY: "TOTAL"})
    return replace(request, body=body)


def request_with_parameters(request: HttpRequest, parameters: JsonObject) -> HttpRequest:
    """Returns the request with other parameters and with ReturnConsumedCapacity."""
    return request_consumed_capacity(replace(request, body=orjson.dumps(parameters)), parameters)


def write_cost(
    writes: Sequence[ItemWrite],
    estimates: Sequence[UnitsByPartition],
    items_before: ItemsBefore,
    response: HttpResponse,
    content: JsonObject,
) -> UnitsByPartition:
    """Returns the cost of writes.

    Successful writes cost their estimates, and more if the engine reports more. If a condition failed or a transaction
    was cancelled, each write costs as much as writing the stored item. The writes cost nothing after any other error,
    and after a transaction that was cancelled because of a validation error.
    """
    if response.status == 200:
        return tuple(_successful_write_cost(writes, estimates, content))
    error_code = str(content.get("__type", "")).rpartition("#")[2]
    if error_code == "ConditionalCheckFailedException" or (
        error_code == "TransactionCanceledException" and not _has_validation_error(content)
    ):
        return tuple(
            units for write in writes for units in write.failed_condition_units(items_before.get(write.target.identity))
        )
    return ()


def read_cost(reads: Sequence[ItemRead], items_before: ItemsBefore, content: JsonObject) -> UnitsByPartition:
    """Returns the cost of reads.

    If the response has whole items, the cost depends on their size. Otherwise it depends on the size of the stored
    items, or for a Query on the capacity that the engine reports.
    """
    sizes = _returned_sizes(reads, content)
    return tuple(
        units
        for read, size in zip(reads, sizes, strict=True)
        for units in _single_read_cost(read, size, items_before, content)
    )


def scan_cost(table: str, schema: TableSchema, call: JsonObject, content: JsonObject) -> UnitsByPartition:
    """Returns the cost of a Scan, distributed over the partitions of the returned items by their sizes.

    Items without the partition key, which a projection can leave out, do not count. If no items count, the Scan costs
    nothing, because its partitions are not known.
    """
    index = call.get("IndexName")
    partition_key = (schema if index is None else schema.indexes[index]).keys[0]
    size_by_partition: defaultdict[Partition, int] = defaultdict(int)
    for item in content.get("Items") or ():
        if partition_key in item:
            size_by_partition[schema.partition_of(table, item, index)] += item_size(item)
    total_size = sum(size_by_partition.values())
    minimum = read_units(total_size, consistent=bool(call.get("ConsistentRead")))
    total_units = minimum if returns_whole_items(call) else max(minimum, consumed_total(content.get(CONSUMED_CAPACITY)))
    return tuple(
        PartitionUnits(partition, "read", total_units * size / total_size)
        for partition, size in size_by_partition.items()
    )


def _successful_write_cost(
    writes: Sequence[ItemWrite], estimates: Sequence[UnitsByPartition], content: JsonObject
) -> Iterator[PartitionUnits]:
    """Yields the estimates, and the units that the engine reports above the estimates.

    DynamoDB only reads the items of a transaction that is repeated with the same ClientRequestToken. The engine then
    reports read units, and only these are yielded.
    """
    consumed = consumed_units("TransactWriteItems", content.get(CONSUMED_CAPACITY))
    if consumed.read and not consumed.write:
        yield from (PartitionUnits(write.target.partition, "read", consumed.read / len(writes)) for write in writes)
        return
    yield from (units for estimate in estimates for units in estimate)
    estimated_total = sum(units.units for estimate in estimates for units in estimate)
    excess = consumed_total(content.get(CONSUMED_CAPACITY)) - estimated_total
    # Only writes with a value that the engine computes can be larger than their estimates.
    uncertain_writes = [write for write in writes if write.has_unknown_values]
    if excess > 0:
        for write in uncertain_writes:
            yield PartitionUnits(write.target.partition, "write", excess / len(uncertain_writes))


def _has_validation_error(content: JsonObject) -> bool:
    return any(reason.get("Code") == "ValidationError" for reason in content.get("CancellationReasons") or ())


def _single_read_cost(
    read: ItemRead, returned_size: int, items_before: ItemsBefore, content: JsonObject
) -> UnitsByPartition:
    if read.returns_whole_items:
        return read.units(returned_size)
    if read.target is not None:
        return read.units(item_size(items_before.get(read.target.identity)))
    return read.units_in_partition(
        max(consumed_total(content.get(CONSUMED_CAPACITY)), read.units(returned_size)[0].units)
    )


def _returned_sizes(reads: Sequence[ItemRead], content: JsonObject) -> list[int]:
    """Returns the size of the items that the response has for each read, in bytes.

    A transaction returns items in the order of its reads. A batch returns items in any order, so keys are compared.
    """
    responses = content.get("Responses")
    if responses is None:
        return [sum(map(item_size, content.get("Items") or [content.get("Item")]))]
    if isinstance(responses, list):
        return [item_size(member.get("Item")) for member in responses]
    schemas = {read.target.table: read.target.schema for read in reads if read.target}
    size_by_identity = {
        (table, schema.key_bytes(item)): item_size(item)
        for table, schema in schemas.items()
        for item in responses.get(table, ())
    }
    return [size_by_identity.get(read.target.identity, 0) if read.target else 0 for read in reads]
