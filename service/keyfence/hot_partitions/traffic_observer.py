"""`TrafficObserver`: counts the capacity units that each DynamoDB call of this server requests of each partition."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import structlog

from keyfence.hot_partitions.capacity_requests import (
    MIN_READ_UNITS,
    CapacityRequest,
    ItemRequest,
    ProjectedAttributes,
    capacity_requests,
    projected_attributes,
    throttled_positions,
    unprocessed_positions,
)
from keyfence.hot_partitions.partition_load import TenantPartition
from keyfence.store.dynamodb.caller import ObservedCall
from keyfence.store.dynamodb.error_codes import CONTENTION, THROTTLING, DynamoDbError
from keyfence.store.entity_registry import Projections
from keyfence.usage.hourly_usage import CONTROL_PLANE
from keyfence_iam.dynamodb.capacity import consumed_total
from keyfence_iam.dynamodb.operations import WRITE_OPERATIONS
from keyfence_iam.dynamodb.traffic_window import SketchEntry, TrafficWindow
from keyfence_iam.tenant import TenantId

FAILED_CONDITIONS = frozenset({"TransactionCanceledException", "ConditionalCheckFailedException"})
"""Error codes of a failed condition. DynamoDB has consumed units for checking the condition."""

SINGLE_PARTITION_READS = frozenset({"Query", "GetItem"})
"""Operations that read one partition, so that all consumed units belong to that partition."""

NO_PROJECTIONS: Projections = {}

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TrafficObserver:
    """Counts all calls of a server in a window of time. An error in this class is logged and never fails the call."""

    window: TrafficWindow[TenantPartition] = field(default_factory=TrafficWindow)
    projections: InitVar[Projections] = NO_PROJECTIONS
    _projected_attributes: ProjectedAttributes = field(init=False)

    def __post_init__(self, projections: Projections) -> None:
        self._projected_attributes = projected_attributes(projections)

    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None:
        try:
            self._count_answer(call, answer)
        except Exception:
            log.exception("partition_traffic_not_counted", operation=call.operation)

    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None:
        rule = error.rule
        if rule not in (THROTTLING, CONTENTION) and error.code not in FAILED_CONDITIONS:
            return
        try:
            requests = capacity_requests(call.operation, call.parameters, MIN_READ_UNITS, self._projected_attributes)
            throttled = throttled_positions(error, len(requests)) if rule is THROTTLING else ()
            self._count(call, requests, throttled, has_failed=True)
        except Exception:
            log.exception("partition_traffic_not_counted", operation=call.operation)

    def _count_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None:
        """Counts an answered call. The units of a batch are divided evenly between the keys that were read."""
        operation, parameters = call.operation, call.parameters
        if operation in WRITE_OPERATIONS:
            requests = capacity_requests(operation, parameters, 0.0, self._projected_attributes)
            self._count(call, requests, unprocessed_positions(parameters, answer))
            return
        units = consumed_total(answer.get("ConsumedCapacity"))
        if operation in SINGLE_PARTITION_READS:
            self._count(call, capacity_requests(operation, parameters, units, self._projected_attributes), ())
            return
        unread = unprocessed_positions(parameters, answer)
        key_count = len(capacity_requests(operation, parameters, 0.0, self._projected_attributes))
        units_per_key = units / max(1, key_count - len(unread))
        self._count(call, capacity_requests(operation, parameters, units_per_key, self._projected_attributes), unread)

    def _count(
        self, call: ObservedCall, requests: Sequence[ItemRequest], throttled: Sequence[int], *, has_failed: bool = False
    ) -> None:
        """Counts the requests of a call, but only once if the call is retried.

        `throttled` contains the positions of the throttled requests."""
        tenant = call.tenant or CONTROL_PLANE
        if not call.is_retry:
            for item_request in requests:
                for request in item_request:
                    self._add(tenant, request, has_failed=has_failed)
        for position in throttled:
            self._busiest_entry(tenant, requests[position]).throttled += 1

    def _add(self, tenant: TenantId, request: CapacityRequest, *, has_failed: bool) -> None:
        table, index, key, read, write = request
        partition = _new_partition(tenant, index, key, table)
        if read:
            read = self._usual_read_units(partition) if has_failed else read
            self.window.add(partition, read, write).reads += 1
        else:
            self.window.add(partition, read, write)

    def _usual_read_units(self, partition: TenantPartition) -> float:
        """Estimates the units of a failed read: the average of the successful reads of this partition."""
        entry = self.window.current_sketch.find(partition)
        return max(MIN_READ_UNITS, entry.read_units / entry.reads) if entry and entry.reads else MIN_READ_UNITS

    def _busiest_entry(self, tenant: TenantId, item_request: ItemRequest) -> SketchEntry:
        """Returns the entry of the item's busiest partition.

        DynamoDB does not say which partition of an item was throttled. Most likely it was the busiest one."""
        partitions = [_new_partition(tenant, index, key, table) for table, index, key, _, _ in item_request]
        return self.window.add(max(partitions, key=self.window.load), 0.0, 0.0)


def _new_partition(tenant: TenantId, index_name: str, key: str, table: str) -> TenantPartition:
    """Makes a partition in a third of the time that its constructor takes. The observer makes one for every call."""
    return tuple.__new__(TenantPartition, (tenant, index_name, key, table))
