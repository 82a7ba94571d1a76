"""How many slots the collections of tenants need for what is asked of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from keyfence.tenancy.advice import least, recommended, recommended_for_reads
from keyfence.tenancy.resharding import most_of
from keyfence.traffic.spot import Spot
from keyfence.traffic.units import READ_LIMIT, WRITE_LIMIT
from keyfence_iam.boundary import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Units a second of the busiest list of a collection, all of its slots together."""

    tenant: TenantId
    collection: str
    read: float
    write: float
    units_per_read: float

    @classmethod
    def of(cls, spot: Spot) -> "Need":
        return cls(
            tenant=spot.place.tenant,
            collection=spot.collection,
            read=spot.read,
            write=spot.write,
            units_per_read=spot.units_per_read,
        )

    def least(self, current: int) -> int:
        """The fewest slots that would do, and never fewer than there are."""
        reads = recommended_for_reads(self.read, READ_LIMIT, current, self.units_per_read)
        return min(
            most_of(self.collection),
            max(current, least(self.write, WRITE_LIMIT), min(reads, least(self.read, READ_LIMIT))),
        )

    def recommended(self, current: int) -> int:
        """With room to spare, and as many as there are while they are not full."""
        reads = recommended_for_reads(self.read, READ_LIMIT, current, self.units_per_read)
        return min(most_of(self.collection), max(recommended(self.write, WRITE_LIMIT, current), reads))

    @property
    def peak(self) -> dict[str, object]:
        """What decides."""
        written = self.write / WRITE_LIMIT >= self.read / READ_LIMIT
        return {"peak": self.write if written else self.read, "units": "write" if written else "read"}


def needs(lists: Iterable[Spot]) -> list[Need]:
    """Slots are a collection's: it needs what that of its lists needs which needs most."""
    found: dict[tuple[TenantId, str], Need] = {}
    for spot in lists:
        one = Need.of(spot)
        key = (one.tenant, one.collection)
        known = found.get(key, one)
        found[key] = Need(
            tenant=one.tenant,
            collection=one.collection,
            read=max(one.read, known.read),
            write=max(one.write, known.write),
            units_per_read=(one if one.read >= known.read else known).units_per_read,
        )
    return list(found.values())
