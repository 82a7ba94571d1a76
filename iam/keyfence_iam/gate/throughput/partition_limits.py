"""What every partition may use, what it has used, and who was turned away."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keyfence_iam.dynamodb.calls import CallShape
from keyfence_iam.dynamodb.capacity import PartitionUnits, UnitsByPartition
from keyfence_iam.gate.throughput.partition_buckets import PartitionBuckets, PartitionRates
from keyfence_iam.gate.throughput.traffic_report import TrafficReport

Refused = Mapping[int, PartitionUnits]
"""Which parts of a call are turned away, and by which partition."""


class PartitionLimits:
    """A part is admitted while each partition that it touches has something left, and charged what it costs."""

    def __init__(self, rates: PartitionRates | None = None, *, now: Callable[[], float] = time.monotonic) -> None:
        self.rates, self._now = rates or PartitionRates(), now
        self.buckets = PartitionBuckets(self.rates, now)
        self._traffic = TrafficReport()

    def refused(self, parts: Sequence[UnitsByPartition]) -> Refused:
        """As things are, and nothing is taken."""
        closed = ((number, self._closed(claims)) for number, claims in enumerate(parts))
        return {number: claim for number, claim in closed if claim is not None}

    def admit(self, shape: CallShape, parts: Sequence[UnitsByPartition]) -> Refused:
        """Takes what the admitted parts claim: of a batch one after the other, of any other call all or nothing."""
        if shape is CallShape.BATCH:
            return {number: closed for number, claims in enumerate(parts) if (closed := self._admitted(claims))}
        refused = self.refused(parts)
        for claims in () if refused else parts:
            self.buckets.take(claims)
        return refused

    def record_throttles(self, refused: Refused) -> None:
        for claim in refused.values():
            self._traffic.throttled(claim, self._now())

    def charge(self, claims: UnitsByPartition) -> None:
        self.buckets.take(claims)
        for claim in claims:
            self._traffic.spent(claim, self._now())

    def settle(self, taken: Sequence[UnitsByPartition], spent: UnitsByPartition) -> None:
        """What was taken to be admitted goes back, and what it really was is charged."""
        for claims in taken:
            self.buckets.give_back(claims)
        self.charge(spent)

    def seen(self) -> dict[str, Any]:
        return self._traffic.seen(self._now(), self.rates)

    def _admitted(self, claims: UnitsByPartition) -> PartitionUnits | None:
        closed = self._closed(claims)
        if closed is None:
            self.buckets.take(claims)
        return closed

    def _closed(self, claims: UnitsByPartition) -> PartitionUnits | None:
        return next((claim for claim in claims if not self.buckets.is_open(claim)), None)
