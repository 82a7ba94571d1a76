"""What was asked of DynamoDB: calls and the capacity they consumed, for whoever is to know."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from keyfence_iam.dynamodb.capacity import consumed_units


class ConsumedCapacity(NamedTuple):
    """What one call consumed; `throttled` are those that DynamoDB turned away."""

    operation: str
    read_units: float = 0.0
    write_units: float = 0.0
    throttled: bool = False


class CapacityAccount(Protocol):
    """Somebody to whom calls are charged."""

    def add(self, consumed: ConsumedCapacity) -> None: ...


@dataclass(slots=True)
class CapacityMeter:
    """Counts for one handle or one request, handed on to the accounts that it is charged to."""

    calls: Counter[str] = field(default_factory=Counter)
    units: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    read_units: float = 0.0
    write_units: float = 0.0
    throttled: int = 0
    accounts: tuple[CapacityAccount, ...] = ()

    def record(self, operation: str, answer: Mapping[str, Any]) -> None:
        self.add(consumed_capacity(operation, answer.get("ConsumedCapacity")))

    def record_error(self, operation: str, consumed: object, *, throttled: bool) -> None:
        """A call that ended in an error is one too, and may say what it consumed."""
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
