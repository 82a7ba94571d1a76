"""Who uses which partitions just now, and who is turned away: for whoever looks on."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from iam.boundary import TENANT_ID
from iam.gate.limits.buckets import Rates
from iam.gate.limits.claim import Claim, Partition
from iam.gate.limits.window import SECONDS, Window
from iam.gate.limits.windows import Windows

MOST = 100
NOBODY = "-"
_TENANT = re.compile(rf"TENANT#({TENANT_ID.pattern})#")
_SLOT = re.compile(r"(.*#)([0-9a-f]{2})", re.DOTALL)


class Traffic:
    """By partition and by tenant; what belongs to no tenant is told as `-`."""

    def __init__(self) -> None:
        self._partitions: Windows[Partition] = Windows()
        self._tenants: Windows[str] = Windows()

    def spent(self, claim: Claim, now: float) -> None:
        self._partitions.of(claim.partition, now).spend(claim, now)
        self._tenants.of(tenant_of(claim.partition.key), now).spend(claim, now)

    def throttled(self, claim: Claim, now: float) -> None:
        self._partitions.of(claim.partition, now).throttle(now)
        self._tenants.of(tenant_of(claim.partition.key), now).throttle(now)

    def seen(self, now: float, rates: Rates) -> dict[str, Any]:
        """The busiest first: tenants by their units, partitions by how near they are to a limit."""
        partitions, tenants = self._partitions.busy(now), self._tenants.busy(now)
        places = Counter(tenant_of(partition.key) for partition in partitions)
        slots = Counter(_collection(partition) for partition in partitions)
        told = [{"tenant": name, **_told(tenants[name], now), "partitions": places[name]} for name in tenants]
        near = [
            {**_place(one), **_told(window, now), "slots": slots[_collection(one)], "load": _load(window, now, rates)}
            for one, window in partitions.items()
        ]
        return {
            "seconds": SECONDS,
            "limits": {"read": rates.read, "write": rates.write, "burstSeconds": rates.burst_seconds},
            "tenants": sorted(told, key=lambda one: (-one["read"] - one["write"], one["tenant"]))[:MOST],
            "partitions": sorted(near, key=lambda one: (-one["load"], -one["throttles"], one["key"]))[:MOST],
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


def _told(window: Window, now: float) -> Mapping[str, Any]:
    return {
        "read": window.rate("read", now),
        "write": window.rate("write", now),
        "peakRead": window.peak("read", now),
        "peakWrite": window.peak("write", now),
        "throttles": window.throttles(now),
    }


def _load(window: Window, now: float, rates: Rates) -> float:
    return max(window.rate("read", now) / rates.read, window.rate("write", now) / rates.write)
