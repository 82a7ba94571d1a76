"""Watching the calls of this process, for the partitions that they ask most of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from keyfence.store.dynamodb.capacity import WRITES
from keyfence.store.dynamodb.errors import BUSY, CONTENDED, Refused
from keyfence.store.watcher import Asked
from keyfence.traffic.claims import LEAST_READ, Claim, Member, blamed, members, turned_away
from keyfence.traffic.place import Place, place_of
from keyfence.traffic.sketch import Tally
from keyfence.traffic.window import Window
from keyfence.usage.model import CONTROL_PLANE
from keyfence_iam.boundary import TenantId

CONDITIONS = frozenset({"TransactionCanceledException", "ConditionalCheckFailedException"})
"""A condition that does not hold was asked for as well."""

SINGLE = frozenset({"Query", "GetItem"})

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Traffic:
    """The watcher of a server. A call must not fail because nobody could make sense of it here."""

    window: Window = field(default_factory=Window)

    def answered(self, asked: Asked, answer: Mapping[str, Any]) -> None:
        try:
            self._answered(asked, answer)
        except Exception:
            log.exception("traffic_not_understood", operation=asked.operation)

    def refused(self, asked: Asked, refusal: Refused) -> None:
        meaning = refusal.meaning
        if meaning not in (BUSY, CONTENDED) and refusal.code not in CONDITIONS:
            return
        try:
            wanted = members(asked.operation, asked.parameters, LEAST_READ)
            away = blamed(refusal, len(wanted)) if meaning is BUSY else ()
            self._count(asked, wanted, away, in_vain=True)
        except Exception:
            log.exception("traffic_not_understood", operation=asked.operation)

    def _answered(self, asked: Asked, answer: Mapping[str, Any]) -> None:
        """A page's units are its partition's; those of several keys are taken to be shared alike."""
        operation, call = asked.operation, asked.parameters
        if operation in WRITES:
            self._count(asked, members(operation, call, 0.0), turned_away(call, answer))
            return
        units = _units(answer.get("ConsumedCapacity") or ())
        if operation in SINGLE:
            self._count(asked, members(operation, call, units), ())
            return
        away, several = turned_away(call, answer), len(members(operation, call, 0.0))
        self._count(asked, members(operation, call, units / max(1, several - len(away))), away)

    def _count(self, asked: Asked, wanted: Sequence[Member], away: Sequence[int], *, in_vain: bool = False) -> None:
        tenant = asked.tenant or CONTROL_PLANE
        if not asked.again:
            for member in wanted:
                for claim in member:
                    self._add(tenant, claim, in_vain=in_vain)
        for number in away:
            self._busiest(tenant, wanted[number]).throttled += 1

    def _add(self, tenant: TenantId, claim: Claim, *, in_vain: bool) -> None:
        table, where, partition, read, write = claim
        place = place_of(tenant, where, partition, table)
        if read:
            read = self._usual(place) if in_vain else read
            self.window.add(place, read, write).reads += 1
        else:
            self.window.add(place, read, write)

    def _usual(self, place: Place) -> float:
        """What a read in vain would have taken: as much as those that were answered."""
        known = self.window.now.find(place)
        return max(LEAST_READ, known.read / known.reads) if known and known.reads else LEAST_READ

    def _busiest(self, tenant: TenantId, member: Member) -> Tally:
        """A refusal does not say which of an item's partitions had no units left."""
        places = [place_of(tenant, where, partition, table) for table, where, partition, _, _ in member]
        return self.window.add(max(places, key=self.window.load), 0.0, 0.0)


def _units(consumed: Any) -> float:
    """One part, or a list of them by table."""
    if isinstance(consumed, Mapping):
        return float(consumed.get("CapacityUnits", 0.0))
    return float(sum(part.get("CapacityUnits", 0.0) for part in consumed))
