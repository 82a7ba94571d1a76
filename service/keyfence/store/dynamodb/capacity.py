"""Counts of calls and of the capacity units that they consumed."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from keyfence_iam.dynamodb.capacity import consumed_units


class ConsumedCapacity(NamedTuple):
    """The capacity units that one call consumed."""

    operation: str
    read_units: float = 0.0
    write_units: float = 0.0
    is_throttled: bool = False
    """Whether DynamoDB rejected the call because of its rate."""


class CapacityAccount(Protocol):
    """A sum that calls are charged to, for example the usage of a tenant."""

    def add(self, consumed: ConsumedCapacity) -> None: ...
    def refund(self, read_units: float) -> None: ...


@dataclass(slots=True)
class CapacityMeter:
    """Counts the calls of one table handle or one request, and charges them to its accounts."""

    calls: Counter[str] = field(default_factory=Counter)
    """The number of calls, by operation."""
    units: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """The read and write units together, by operation."""
    read_units: float = 0.0
    write_units: float = 0.0
    throttled_calls: int = 0
    accounts: tuple[CapacityAccount, ...] = ()

    @property
    def total_units(self) -> float:
        """The read and write units of all calls."""
        return self.read_units + self.write_units

    def record(self, operation: str, answer: Mapping[str, Any]) -> None:
        """Counts a call that DynamoDB answered."""
        self.add(consumed_capacity(operation, answer.get("ConsumedCapacity")))

    def record_error(self, operation: str, consumed: object, *, is_throttled: bool) -> None:
        """Counts a call that returned an error. A failed call may have consumed units too."""
        self.add(consumed_capacity(operation, consumed)._replace(is_throttled=is_throttled))

    def add(self, consumed: ConsumedCapacity) -> None:
        self.calls[consumed.operation] += 1
        self.units[consumed.operation] += consumed.read_units + consumed.write_units
        self.read_units += consumed.read_units
        self.write_units += consumed.write_units
        self.throttled_calls += consumed.is_throttled
        for account in self.accounts:
            account.add(consumed)

    def refund(self, read_units: float) -> None:
        """Subtracts read units from the accounts. The sums of this meter stay the same: they are the units that
        DynamoDB reported."""
        for account in self.accounts:
            account.refund(read_units)


def consumed_capacity(operation: str, reported: Any) -> ConsumedCapacity:
    """Returns the units of an answer's ConsumedCapacity. The units are 0 if `reported` is None."""
    return ConsumedCapacity(operation, *consumed_units(operation, reported))
