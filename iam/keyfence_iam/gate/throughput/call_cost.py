"""Computes the cost of a call from the engine's response, and asks the engine for `ConsumedCapacity`."""

import zlib
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
from keyfence_iam.gate.engine.items_before_write import ItemsBefore
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse

RETURN_CONSUMED = "ReturnConsumedCapacity"
CONSUMED = "ConsumedCapacity"
_BODY_HEADERS = frozenset({b"content-length", b"x-amz-crc32"})

Content = Mapping[str, Any]
"""The body of a response, or the parameters of a call."""


def wants_consumed_capacity(parameters: Content) -> bool:
    return parameters.get(RETURN_CONSUMED) not in {None, "NONE"}


def request_consumed_capacity(request: HttpRequest, parameters: Content) -> HttpRequest:
    """Returns the request with ReturnConsumedCapacity, and without compression, since the gate reads the response.

    If the parameter is missing, it is put before the rest of the body, whose bytes stay as they are.
    """
    headers = [header for header in request.headers if header[0] != b"accept-encoding"]
    if RETURN_CONSUMED not in parameters:
        body = b'{"%s":"TOTAL",' % RETURN_CONSUMED.encode() + request.body[request.body.index(b"{") + 1 :]
    elif wants_consumed_capacity(parameters):
        body = request.body
    else:
        body = orjson.dumps({**parameters, RETURN_CONSUMED: "TOTAL"})
    return replace(request, headers=headers, body=body)


def request_with_parameters(request: HttpRequest, parameters: Content) -> HttpRequest:
    return request_consumed_capacity(replace(request, body=orjson.dumps(parameters)), parameters)


def content_of(response: HttpResponse) -> dict[str, Any]:
    """Returns the JSON object in the body, or an empty one if the body is something else."""
    try:
        content = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def with_content(response: HttpResponse, content: Content) -> HttpResponse:
    body = orjson.dumps(content)
    others = [header for header in response.headers if header[0].lower() not in _BODY_HEADERS]
    headers = [(b"content-length", b"%d" % len(body)), (b"x-amz-crc32", b"%d" % zlib.crc32(body))]
    return HttpResponse(response.status, [*others, *headers], body)


def write_cost(
    writes: Sequence[ItemWrite],
    estimates: Sequence[UnitsByPartition],
    before: ItemsBefore,
    response: HttpResponse,
    content: Content,
) -> UnitsByPartition:
    """Returns what the writes cost.

    If they succeeded: the estimate. If a condition failed: the cost of checking it. For any other error: nothing.
    """
    if response.status == 200:
        return tuple(_successful_writes(writes, estimates, content))
    code = str(content.get("__type", "")).rpartition("#")[2]
    if code == "ConditionalCheckFailedException" or (
        code == "TransactionCanceledException" and not _has_validation_error(content)
    ):
        return tuple(
            units for write in writes for units in write.failed_condition_units(before.get(write.target.identity))
        )
    return ()


def read_cost(reads: Sequence[ItemRead], before: ItemsBefore, content: Content) -> UnitsByPartition:
    """Returns what the reads cost: by the returned items if they are whole, else by what the engine reports."""
    sizes = _returned_sizes(reads, content)
    return tuple(
        units for read, size in zip(reads, sizes, strict=True) for units in _read_charge(read, size, before, content)
    )


def scan_cost(table: str, schema: TableSchema, call: Content, content: Content) -> UnitsByPartition:
    """Distributes the cost of a scan over the partitions of the returned items. If it returns none, none is charged."""
    index = call.get("IndexName")
    partition_key = (schema if index is None else schema.indexes[index]).keys[0]
    sizes: defaultdict[Partition, int] = defaultdict(int)
    for item in content.get("Items") or ():
        if partition_key in item:
            sizes[schema.partition_of(table, item, index)] += item_size(item)
    returned = sum(sizes.values())
    minimum = read_units(returned, consistent=bool(call.get("ConsistentRead")))
    total = minimum if returns_whole_items(call) else max(minimum, consumed_total(content.get(CONSUMED)))
    return tuple(PartitionUnits(partition, "read", total * size / returned) for partition, size in sizes.items())


def _successful_writes(
    writes: Sequence[ItemWrite], estimates: Sequence[UnitsByPartition], content: Content
) -> Iterator[PartitionUnits]:
    """A transaction that is repeated with the same token is only read. The engine then reports read units alone."""
    consumed = consumed_units("TransactWriteItems", content.get(CONSUMED))
    if consumed.read and not consumed.write:
        yield from (PartitionUnits(write.target.partition, "read", consumed.read / len(writes)) for write in writes)
        return
    yield from (units for estimate in estimates for units in estimate)
    rest = consumed_total(content.get(CONSUMED)) - sum(units.units for estimate in estimates for units in estimate)
    uncertain = [write for write in writes if write.has_unknown_values]
    if rest > 0:
        yield from (PartitionUnits(write.target.partition, "write", rest / len(uncertain)) for write in uncertain)


def _has_validation_error(content: Content) -> bool:
    return any(reason.get("Code") == "ValidationError" for reason in content.get("CancellationReasons") or ())


def _read_charge(read: ItemRead, size: int, before: ItemsBefore, content: Content) -> UnitsByPartition:
    if read.returns_whole_items:
        return read.units(size)
    if read.target is not None:
        return read.units(item_size(before.get(read.target.identity)))
    return read.with_units(max(consumed_total(content.get(CONSUMED)), read.units(size)[0].units))


def _returned_sizes(reads: Sequence[ItemRead], content: Content) -> list[int]:
    """Returns the bytes that the response has for each read.

    A transaction returns its items in the order of the reads, a batch in any order: there the keys tell.
    """
    responses = content.get("Responses")
    if responses is None:
        return [sum(map(item_size, content.get("Items") or [content.get("Item")]))]
    if isinstance(responses, list):
        return [item_size(one.get("Item")) for one in responses]
    schemas = {read.target.table: read.target.schema for read in reads if read.target}
    sizes = {
        (table, schema.key_bytes(item)): item_size(item)
        for table, schema in schemas.items()
        for item in responses.get(table, ())
    }
    return [sizes.get(read.target.identity, 0) if read.target else 0 for read in reads]
