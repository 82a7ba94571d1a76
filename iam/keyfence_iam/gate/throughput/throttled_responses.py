"""The responses to throttled calls: error responses, and the unprocessed requests of a batch."""

from collections.abc import Container, Iterator, Mapping
from itertools import count
from typing import Any

from keyfence_iam.dynamodb.capacity import PartitionUnits
from keyfence_iam.gate.http.messages import DYNAMODB_NAMESPACE, HttpResponse, dynamodb_error, json_response
from keyfence_iam.gate.throughput.partition_limits import ThrottledParts

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


def throughput_exceeded(units: PartitionUnits) -> HttpResponse:
    """Returns the error response for a throttled call. `units` names the partition that has no units left."""
    return dynamodb_error("ProvisionedThroughputExceededException", _message(units))


def transaction_cancelled(throttled: ThrottledParts, part_count: int) -> HttpResponse:
    """Returns the error response for a throttled transaction, with a reason for each of its reads or writes."""
    reasons = [_cancellation_reason(throttled.get(position)) for position in range(part_count)]
    codes = ", ".join(reason["Code"] for reason in reasons)
    return json_response(
        {
            "__type": f"{DYNAMODB_NAMESPACE}TransactionCanceledException",
            "Message": f"{_CANCELLED_MESSAGE} [{codes}]",
            "CancellationReasons": reasons,
        },
        400,
    )


def select_requests(request_items: Mapping[str, Any], positions: Container[int]) -> dict[str, Any]:
    """Returns the RequestItems of a batch with only the requests at these positions.

    Positions are counted from 0 over all tables of the batch.
    """
    return dict(_selected_entries(request_items, positions))


def merge_request_items(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Returns RequestItems with the requests of both arguments."""
    merged = dict(first)
    for table, entry in second.items():
        merged[table] = _merge_entries(merged[table], entry) if table in merged else entry
    return merged


def _selected_entries(request_items: Mapping[str, Any], positions: Container[int]) -> Iterator[tuple[str, Any]]:
    """Yields each table that has selected requests, with its entry.

    An entry is a list of writes, or a mapping in which `Keys` is the list of reads.
    """
    position_counter = count()
    for table, entry in request_items.items():
        requests = entry if isinstance(entry, list) else entry["Keys"]
        if selected := [request for request in requests if next(position_counter) in positions]:
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
