"""Counts of calls and of the capacity units that they consumed."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from keyfence_iam.dynamodb.capacity import consumed_units


class ConsumedCapacity(NamedTuple):
    """The capacity units that one call consumed. `throttled` if DynamoDB refused the call because of its rate."""

    operation: str
    read_units: float = 0.0
    write_units: float = 0.0
    throttled: bool = False


class CapacityAccount(Protocol):
    """Is charged for calls, for example the usage of a tenant."""

    def add(self, consumed: ConsumedCapacity) -> None: ...


@dataclass(slots=True)
class CapacityMeter:
    """Counts the calls of one table handle or one request, and charges them to its accounts."""

    calls: Counter[str] = field(default_factory=Counter)
    units: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    read_units: float = 0.0
    write_units: float = 0.0
    throttled: int = 0
    accounts: tuple[CapacityAccount, ...] = ()

    def record(self, operation: str, answer: Mapping[str, Any]) -> None:
        self.add(consumed_capacity(operation, answer.get("ConsumedCapacity")))

    def record_error(self, operation: str, consumed: object, *, throttled: bool) -> None:
        """Counts a call that returned an error. Such a call may have consumed units too."""
        self.add(consumed_capacity(operation, consumed)._replace(throttled=throttled))

    def add(self, consumed: ConsumedCapacity) -> None:
        self.calls[consumed.operation] += 1
        self.units[consumed.operation] += consumed.read_units + consumed.write_units
        self.read_units += consumed.read_units
        self.write_units += consumed.write_units
        self.throttled += consumed.throttled
        for account in self.accounts:
            account.add(consumed)


def consumed_capacity(operation: str, consumed: Any) -> ConsumedCapacity:
    return ConsumedCapacity(operation, *consumed_units(operation, consumed))
