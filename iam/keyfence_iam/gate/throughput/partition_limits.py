"""`PartitionLimits`: decides which parts of a call are throttled, and records the units that partitions use."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keyfence_iam.dynamodb.capacity import PartitionUnits, UnitsByPartition
from keyfence_iam.dynamodb.item_access import CallShape
from keyfence_iam.gate.throughput.partition_rates import PartitionBuckets, PartitionRates
from keyfence_iam.gate.throughput.traffic_report import GroupOf, SplitShard, TrafficReport, no_group, no_shard

ThrottledParts = Mapping[int, PartitionUnits]
"""The throttled parts of a call: its reads or writes, by position from 0. The value names a partition that has no units
left.
"""


class PartitionLimits:
    """Limits the capacity units of partitions. A part of a call is one of its reads or writes.

    A part is admitted if each of its partitions has any units left, even if they are fewer than the part costs.
    `group_of` and `split_shard` tell the traffic report how to group partition keys, for example by tenant.
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

    def find_throttled(self, parts: Sequence[UnitsByPartition]) -> ThrottledParts:
        """Returns the parts that would be throttled now. No units are taken."""
        return {position: units for position, part in enumerate(parts) if (units := self._find_exhausted(part))}

    def admit(self, shape: CallShape, parts: Sequence[UnitsByPartition]) -> ThrottledParts:
        """Takes the units of the admitted parts, and returns the throttled parts.

        In a batch, each part is decided on its own. In other calls, one throttled part throttles all parts.
        """
        if shape is CallShape.BATCH:
            return {position: units for position, part in enumerate(parts) if (units := self._admit_part(part))}
        throttled = self.find_throttled(parts)
        if not throttled:
            for part in parts:
                self.buckets.take(part)
        return throttled

    def record_throttles(self, throttled: ThrottledParts) -> None:
        for units in throttled.values():
            self._traffic.record_throttle(units)

    def charge(self, cost: UnitsByPartition) -> None:
        """Takes the units of a call and records them for the traffic report."""
        self.buckets.take(cost)
        for units in cost:
            self._traffic.record(units)

    def replace_estimates(self, estimates: Sequence[UnitsByPartition], cost: UnitsByPartition) -> None:
        """Gives back the units that `admit` took, and charges the real cost of the call."""
        for part in estimates:
            self.buckets.give_back(part)
        self.charge(cost)

    def traffic_report(self) -> dict[str, Any]:
        return self._traffic.report(self.rates)

    def _admit_part(self, part: UnitsByPartition) -> PartitionUnits | None:
        """Takes the units of a part and returns None, or takes nothing and returns a partition without units."""
        exhausted_partition = self._find_exhausted(part)
        if exhausted_partition is None:
            self.buckets.take(part)
        return exhausted_partition

    def _find_exhausted(self, part: UnitsByPartition) -> PartitionUnits | None:
        """Returns the first partition that has no units left, with the units that the part needs, or None."""
        return next((units for units in part if not self.buckets.has_units(units)), None)
