"""A call past the limits of its partitions; DynamoDB's words for it."""

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from keyfence_iam.dynamodb.calls import CallShape, ItemAccess, TableSchemas, item_access, table_name
from keyfence_iam.dynamodb.capacity import PartitionUnits, UnitsByPartition
from keyfence_iam.dynamodb.parameters import UnsupportedRequest
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.gate.call import DynamoDBCall
from keyfence_iam.gate.engine.client import EngineClient, forward
from keyfence_iam.gate.engine.reads import ItemReader, ItemsBefore, TableSchemaCache
from keyfence_iam.gate.http.messages import (
    DYNAMODB,
    HttpRequest,
    HttpResponse,
    ResponseError,
    dynamodb_error,
    json_response,
)
from keyfence_iam.gate.throughput import settlement
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits, Refused
from keyfence_iam.gate.throughput.settlement import (
    TOLD,
    content_of,
    request_consumed_capacity,
    rewritten,
    wants_to_know,
    with_content,
)

UNPROCESSED = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


def select_requests(requested: Mapping[str, Any], numbers: Container[int]) -> dict[str, Any]:
    """The requests of these numbers, counted over all tables in their order, as a batch spells them."""
    return dict(_selected(requested, numbers))


def _selected(requested: Mapping[str, Any], numbers: Container[int]) -> Iterator[tuple[str, Any]]:
    number = count()
    for table, entry in requested.items():
        requests = entry if isinstance(entry, list) else entry["Keys"]
        if kept := [request for request in requests if next(number) in numbers]:
            yield table, kept if isinstance(entry, list) else {**entry, "Keys": kept}


def merge_unprocessed(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two selections of the same batch as one."""
    both = dict(one)
    for table, entry in other.items():
        both[table] = _both(both[table], entry) if table in both else entry
    return both


def _both(one: Any, other: Any) -> Any:
    return [*one, *other] if isinstance(one, list) else {**one, "Keys": [*one["Keys"], *other["Keys"]]}


_TABLE = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_INDEX = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded."
    " Consider increasing your provisioning level for the under-provisioned global secondary indexes with the"
    " UpdateTable API"
)
_CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons"


def throughput_exceeded(claim: PartitionUnits) -> HttpResponse:
    return dynamodb_error("ProvisionedThroughputExceededException", _message(claim))


def transaction_cancelled(refused: Mapping[int, PartitionUnits], count: int) -> HttpResponse:
    """A reason for every item of the transaction, in their order."""
    reasons = [_reason(refused.get(number)) for number in range(count)]
    codes = ", ".join(reason["Code"] for reason in reasons)
    return json_response(
        {
            "__type": f"{DYNAMODB}TransactionCanceledException",
            "Message": f"{_CANCELLED} [{codes}]",
            "CancellationReasons": reasons,
        },
        400,
    )


def _reason(claim: PartitionUnits | None) -> dict[str, str]:
    if claim is None:
        return {"Code": "None"}
    return {"Code": "ProvisionedThroughputExceeded", "Message": _message(claim)}


def _message(claim: PartitionUnits) -> str:
    return _TABLE if claim.partition.index is None else _INDEX


class ThroughputLimiter:
    """Calls that touch no partition, and those of PartiQL, go by."""

    def __init__(self, upstream: EngineClient, region: str) -> None:
        self._upstream = upstream
        self._schemas = TableSchemaCache(upstream, region, TableSchema.from_description)
        self._reader = ItemReader(upstream, region)

    def forget(self) -> None:
        self._schemas.forget()

    async def forward(self, call: DynamoDBCall, limits: PartitionLimits) -> HttpResponse:
        tables = _tables(call)
        try:
            schemas = await self._schemas.of(tables)
        except UnsupportedRequest:  # a table without a string as its partition key; only a Scan of it gets this far
            return await forward(call.request, self._upstream)
        if call.operation == "Scan":
            return await self._scan(call, limits, schemas)
        known = tables <= schemas.keys()
        wanted = item_access(call.operation, call.parameters, call.leading_keys, schemas) if known else None
        return await (forward(call.request, self._upstream) if wanted is None else self._limited(call, limits, wanted))

    async def _limited(self, call: DynamoDBCall, limits: PartitionLimits, wanted: ItemAccess) -> HttpResponse:
        """Whom the table's own partitions turn away costs the engine nothing, not even the look at what is there."""
        _turn_away(limits, wanted, limits.refused([part.minimum_units for part in wanted.parts]))
        before = await self._reader.images(wanted.items_to_read)
        drafts = [write.units(before.get(write.target.identity)) for write in wanted.writes]
        drafts += [read.minimum_units for read in wanted.reads]
        refused = limits.admit(wanted.shape, drafts)
        _turn_away(limits, wanted, refused)
        limits.record_throttles(refused)
        return await self._admitted(call, limits, wanted.without(refused), drafts, before, refused)

    async def _admitted(
        self,
        call: DynamoDBCall,
        limits: PartitionLimits,
        wanted: ItemAccess,
        drafts: Sequence[UnitsByPartition],
        before: ItemsBefore,
        refused: Refused,
    ) -> HttpResponse:
        """However it ends, what was taken to be admitted is given back for what it cost."""
        taken = [claims for number, claims in enumerate(drafts) if number not in refused]
        cost: UnitsByPartition = ()
        try:
            answer = await forward(_request(call, len(drafts), refused), self._upstream)
            content = content_of(answer)
            cost = _cost(wanted, taken, before, answer, content)
        finally:
            limits.settle(taken, cost)
        return _told(call, answer, content, refused)

    async def _scan(self, call: DynamoDBCall, limits: PartitionLimits, schemas: TableSchemas) -> HttpResponse:
        """Charged, but never turned away: which partitions it will meet nobody knows."""
        answer = await forward(request_consumed_capacity(call.request, call.parameters), self._upstream)
        content, table = content_of(answer), table_name(call.parameters["TableName"])
        if answer.status == 200 and table in schemas:
            limits.charge(settlement.scan_charges(table, schemas[table], call.parameters, content))
        return _told(call, answer, content, {})


def _tables(call: DynamoDBCall) -> set[str]:
    """Those that it names, not all that are known: one that is gone must not open the others.

    A scan names its table without having to be led by anything, so that nobody has asked for its keys yet."""
    named = {_table_of(asked.resource) for asked in call.asked}
    return named if call.operation == "Scan" else named & set(call.keys)


def _table_of(resource: str) -> str:
    return resource.partition(":table/")[2].partition("/")[0]


def _turn_away(limits: PartitionLimits, wanted: ItemAccess, refused: Refused) -> None:
    """A batch goes on as long as a part of it does."""
    if not refused or (wanted.shape is CallShape.BATCH and len(refused) < len(wanted.parts)):
        return
    limits.record_throttles(refused)
    if wanted.shape is CallShape.TRANSACTION:
        raise ResponseError(transaction_cancelled(refused, len(wanted.parts)))
    raise ResponseError(throughput_exceeded(next(iter(refused.values()))))


def _request(call: DynamoDBCall, count: int, refused: Refused) -> HttpRequest:
    if not refused:
        return request_consumed_capacity(call.request, call.parameters)
    kept = select_requests(call.parameters["RequestItems"], set(range(count)) - refused.keys())
    return rewritten(call.request, {**call.parameters, "RequestItems": kept})


def _cost(
    wanted: ItemAccess,
    taken: Sequence[UnitsByPartition],
    before: ItemsBefore,
    answer: HttpResponse,
    content: dict[str, Any],
) -> UnitsByPartition:
    if wanted.writes:
        return settlement.write_charges(wanted.writes, taken, before, answer, content)
    return settlement.read_charges(wanted.reads, before, content) if answer.status == 200 else ()


def _told(call: DynamoDBCall, answer: HttpResponse, content: dict[str, Any], refused: Refused) -> HttpResponse:
    """The engine's own bytes where nothing has to be kept from the caller or told besides."""
    if answer.status != 200 or not content or (wants_to_know(call.parameters) and not refused):
        return answer
    told = {name: value for name, value in content.items() if name != TOLD or wants_to_know(call.parameters)}
    if refused:
        name, back = UNPROCESSED[call.operation], select_requests(call.parameters["RequestItems"], refused)
        told[name] = merge_unprocessed(told.get(name) or {}, back)
    return with_content(answer, told)
