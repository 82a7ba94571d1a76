"""`PartitionLimits`: which parts of a call the limits of partitions allow, and what each partition has used."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keyfence_iam.dynamodb.capacity import PartitionUnits, UnitsByPartition
from keyfence_iam.dynamodb.item_access import CallShape
from keyfence_iam.gate.throughput.partition_buckets import PartitionBuckets, PartitionRates
from keyfence_iam.gate.throughput.traffic_report import GroupOf, SplitShard, TrafficReport, no_group, no_shard

ThrottledParts = Mapping[int, PartitionUnits]
"""The parts of a call that are throttled, by number, each with the partition that has no units left."""


class PartitionLimits:
    """A part of a call is admitted while each of its partitions has units left. It then pays what it really costs.

    `group_of` and `split_shard` say how the traffic report groups partition keys, for example by tenant.
    """

    def __init__(
        self,
        rates: PartitionRates | None = None,
        *,
        group_of: GroupOf = no_group,
        split_shard: SplitShard = no_shard,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rates = rates or PartitionRates()
        self.buckets = PartitionBuckets(self.rates, now)
        self._traffic = TrafficReport(group_of=group_of, split_shard=split_shard, now=now)

    def throttled(self, parts: Sequence[UnitsByPartition]) -> ThrottledParts:
        """Returns the parts that would be throttled now. Takes nothing."""
        exhausted = ((number, self._exhausted(part)) for number, part in enumerate(parts))
        return {number: units for number, units in exhausted if units is not None}

    def admit(self, shape: CallShape, parts: Sequence[UnitsByPartition]) -> ThrottledParts:
        """Takes the units of the admitted parts and returns the others. Only a batch can be admitted in part."""
        if shape is CallShape.BATCH:
            return {number: units for number, part in enumerate(parts) if (units := self._admit_part(part))}
        throttled = self.throttled(parts)
        for part in () if throttled else parts:
            self.buckets.take(part)
        return throttled

    def record_throttles(self, throttled: ThrottledParts) -> None:
        for units in throttled.values():
            self._traffic.record_throttle(units)

    def charge(self, used: UnitsByPartition) -> None:
        self.buckets.take(used)
        for units in used:
            self._traffic.record(units)

    def settle(self, admitted: Sequence[UnitsByPartition], used: UnitsByPartition) -> None:
        """Gives back the units that were taken for the admission and charges those that the call really used."""
        for part in admitted:
            self.buckets.give_back(part)
        self.charge(used)

    def traffic_report(self) -> dict[str, Any]:
        return self._traffic.report(self.rates)

    def _admit_part(self, part: UnitsByPartition) -> PartitionUnits | None:
        exhausted = self._exhausted(part)
        if exhausted is None:
            self.buckets.take(part)
        return exhausted

    def _exhausted(self, part: UnitsByPartition) -> PartitionUnits | None:
        return next((units for units in part if not self.buckets.is_open(units)), None)
