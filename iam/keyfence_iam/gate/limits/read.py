"""One key, or one partition, that a call reads."""

from dataclasses import dataclass

from keyfence_iam.evaluator.requests.shape import Holder
from keyfence_iam.gate.limits.claim import Claim, Claims, Partition
from keyfence_iam.gate.limits.target import Target
from keyfence_iam.gate.limits.units import read_units

_HIDING = ("ProjectionExpression", "AttributesToGet", "FilterExpression", "QueryFilter", "ScanFilter")
_WHOLE = frozenset({None, "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """`whole` says that the answer shows all that was read. A partition has no target."""

    partition: Partition
    consistent: bool
    whole: bool
    factor: int = 1
    target: Target | None = None

    @property
    def least(self) -> Claims:
        return self.claims(0)

    def claims(self, size: int) -> Claims:
        return self.charged(read_units(size, consistent=self.consistent) * self.factor)

    def charged(self, units: float) -> Claims:
        return (Claim(self.partition, "read", units),)


def shows_all(call: Holder) -> bool:
    return call.get("Select") in _WHOLE and all(call.get(name) is None for name in _HIDING)
