"""What a call really cost, from its answer."""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitsByPartition, read_units
from keyfence_iam.dynamodb.costs import ItemRead, ItemWrite, returns_whole_items
from keyfence_iam.dynamodb.item_size import item_size
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.gate.engine.reads import ItemsBefore
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse

ASKING = "ReturnConsumedCapacity"
TOLD = "ConsumedCapacity"
_REPLACED = frozenset({b"content-length", b"x-amz-crc32"})


def wants_to_know(parameters: Mapping[str, Any]) -> bool:
    return parameters.get(ASKING) not in {None, "NONE"}


def request_consumed_capacity(request: HttpRequest, parameters: Mapping[str, Any]) -> HttpRequest:
    """The body byte for byte behind the one parameter that is put before it; the answer has to be readable here."""
    headers = [header for header in request.headers if header[0] != b"accept-encoding"]
    if ASKING not in parameters:
        body = b'{"%s":"TOTAL",' % ASKING.encode() + request.body[request.body.index(b"{") + 1 :]
    else:
        body = request.body if wants_to_know(parameters) else orjson.dumps({**parameters, ASKING: "TOTAL"})
    return replace(request, headers=headers, body=body)


def rewritten(request: HttpRequest, parameters: Mapping[str, Any]) -> HttpRequest:
    return request_consumed_capacity(replace(request, body=orjson.dumps(parameters)), parameters)


def content_of(answer: HttpResponse) -> dict[str, Any]:
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def with_content(answer: HttpResponse, content: Mapping[str, Any]) -> HttpResponse:
    body = orjson.dumps(content)
    kept = [header for header in answer.headers if header[0].lower() not in _REPLACED]
    sized = [(b"content-length", b"%d" % len(body)), (b"x-amz-crc32", b"%d" % zlib.crc32(body))]
    return HttpResponse(answer.status, [*kept, *sized], body)


def reported(content: Mapping[str, Any], name: str = "CapacityUnits") -> float:
    return float(sum(part.get(name) or 0 for part in consumed_units(content)))


def consumed_units(content: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """One for each table; of a call on one table there is but one, and no list."""
    told = content.get(TOLD)
    found = told if isinstance(told, list) else [told]
    return [part for part in found if isinstance(part, Mapping)]


Content = Mapping[str, Any]


def write_charges(
    writes: Sequence[ItemWrite],
    drafts: Sequence[UnitsByPartition],
    before: ItemsBefore,
    answer: HttpResponse,
    content: Content,
) -> UnitsByPartition:
    """As drafted where it was done, the price of looking where a condition did not hold, else nothing."""
    if answer.status == 200:
        return tuple(_written(writes, drafts, content))
    code = str(content.get("__type", "")).rpartition("#")[2]
    if code == "ConditionalCheckFailedException":
        return tuple(
            claim for write in writes for claim in write.failed_condition_units(before.get(write.target.identity))
        )
    if code == "TransactionCanceledException" and not _invalid(content):
        return tuple(
            claim for write in writes for claim in write.failed_condition_units(before.get(write.target.identity))
        )
    return ()


def _invalid(content: Content) -> bool:
    return any(reason.get("Code") == "ValidationError" for reason in content.get("CancellationReasons") or ())


def _written(
    writes: Sequence[ItemWrite], drafts: Sequence[UnitsByPartition], content: Content
) -> Iterator[PartitionUnits]:
    """A transaction that was carried out before is only read again when it is repeated, and the engine says so."""
    if (repeated := reported(content, "ReadCapacityUnits")) and not reported(content, "WriteCapacityUnits"):
        yield from (PartitionUnits(write.target.partition, "read", repeated / len(writes)) for write in writes)
        return
    yield from (claim for draft in drafts for claim in draft)
    rest = reported(content) - sum(claim.units for draft in drafts for claim in draft)
    unsure = [write for write in writes if write.has_unknown_values]
    if rest > 0:
        yield from (PartitionUnits(write.target.partition, "write", rest / len(unsure)) for write in unsure)


def read_charges(reads: Sequence[ItemRead], before: ItemsBefore, content: Content) -> UnitsByPartition:
    """By the items in the answer where it shows them whole. What a query hides only the engine can tell."""
    shown = _shown(reads, content)
    return tuple(claim for number, read in enumerate(reads) for claim in _read(read, shown[number], before, content))


def _read(read: ItemRead, shown: int, before: ItemsBefore, content: Content) -> UnitsByPartition:
    if read.returns_whole_items:
        return read.units(shown)
    if read.target is not None:
        return read.units(item_size(before.get(read.target.identity)))
    return read.with_units(max(reported(content), read.units(shown)[0].units))


def _shown(reads: Sequence[ItemRead], content: Content) -> list[int]:
    """The bytes of each read in the answer: of one call, of a transaction in its order, of a batch by the keys."""
    responses = content.get("Responses")
    if responses is None:
        return [sum(map(item_size, content.get("Items") or [content.get("Item")]))]
    if isinstance(responses, list):
        return [item_size(one.get("Item")) for one in responses]
    schemas = {read.target.table: read.target.schema for read in reads if read.target}
    sizes = {
        (table, schema.identity(item)): item_size(item)
        for table, schema in schemas.items()
        for item in responses.get(table, ())
    }
    return [sizes.get(read.target.identity, 0) if read.target else 0 for read in reads]


def scan_charges(table: str, schema: TableSchema, call: Content, content: Content) -> UnitsByPartition:
    """Spread over the partitions of the items that it shows; what it shows nothing of is charged to nobody."""
    index = call.get("IndexName")
    leading = (schema if index is None else schema.indexes[index]).keys[0]
    shares: defaultdict[Partition, int] = defaultdict(int)
    for item in content.get("Items") or ():
        if leading in item:
            shares[schema.partition_of(table, item, index)] += item_size(item)
    seen = sum(shares.values())
    least = read_units(seen, consistent=bool(call.get("ConsistentRead")))
    total = least if returns_whole_items(call) else max(least, reported(content))
    return tuple(PartitionUnits(partition, "read", total * share / seen) for partition, share in shares.items())
