"""Who uses which partitions just now, and who is turned away: for whoever looks on."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.gate.throughput.window import SECONDS, Sum
from keyfence_iam.gate.throughput.windows import Windows
from keyfence_iam.tenant import TENANT_ID_PATTERN

MOST = 100
NOBODY = "-"
_TENANT = re.compile(rf"TENANT#({TENANT_ID_PATTERN.pattern})#")
_SLOT = re.compile(r"(.*#)([0-9a-f]{2})", re.DOTALL)


class TrafficReport:
    """By partition and by tenant; what belongs to no tenant is told as `-`."""

    def __init__(self) -> None:
        self._partitions: Windows[Partition] = Windows()
        self._tenants: Windows[str] = Windows()

    def spent(self, claim: PartitionUnits, now: float) -> None:
        self._partitions.of(claim.partition, now).spend(claim, now)
        self._tenants.of(tenant_of(claim.partition.key), now).spend(claim, now)

    def throttled(self, claim: PartitionUnits, now: float) -> None:
        self._partitions.of(claim.partition, now).throttle(now)
        self._tenants.of(tenant_of(claim.partition.key), now).throttle(now)

    def seen(self, now: float, rates: PartitionRates) -> dict[str, Any]:
        """The busiest first: tenants by their units, partitions by how near they are to a limit."""
        partitions, tenants = self._partitions.busy(now), self._tenants.busy(now)
        places = Counter(tenant_of(partition.key) for partition in partitions)
        slots = Counter(map(_collection, partitions))
        near = sorted(partitions, key=lambda one: (-_load(partitions[one], rates), -partitions[one].throttles, one.key))
        return {
            "seconds": SECONDS,
            "limits": {"read": rates.read, "write": rates.write, "burstSeconds": rates.burst_seconds},
            "tenants": [
                {"tenant": name, **_told(total), "partitions": places[name]}
                for name, total in list(tenants.items())[:MOST]
            ],
            "partitions": [
                {
                    **_place(one),
                    "slots": slots[_collection(one)],
                    **_told(partitions[one]),
                    "load": _load(partitions[one], rates),
                }
                for one in near[:MOST]
            ],
        }


def tenant_of(key: str) -> str:
    found = _TENANT.match(key)
    return found[1] if found else NOBODY


def slot_of(key: str) -> str | None:
    """What a sharded partition ends in."""
    found = _SLOT.fullmatch(key)
    return found[2] if found else None


def _collection(partition: Partition) -> Partition:
    found = _SLOT.fullmatch(partition.key)
    return replace(partition, key=found[1]) if found else partition


def _place(partition: Partition) -> dict[str, Any]:
    key = partition.key
    named = {"table": partition.table, "index": partition.index, "key": key}
    return {**named, "tenant": tenant_of(key), "slot": slot_of(key)}


def _told(total: Sum) -> dict[str, Any]:
    return {
        "read": total.read,
        "write": total.write,
        "peakRead": total.peak_read,
        "peakWrite": total.peak_write,
        "throttles": total.throttles,
    }


def _load(total: Sum, rates: PartitionRates) -> float:
    return max(total.read / rates.read, total.write / rates.write)
