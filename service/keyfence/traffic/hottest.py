"""The hottest partitions of this process, with the lists that they are slots of."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from keyfence.traffic.naming import Listed, Naming
from keyfence.traffic.place import Place
from keyfence.traffic.sketch import Sketch
from keyfence.traffic.spot import Spot, Steps, added
from keyfence.traffic.units import READ_LIMIT, STEP, WRITE_LIMIT
from keyfence.traffic.window import Window

MOST = 50
WARM = 0.1
"""The part of a partition's limit from which on it is worth a word. Of a fleet, each server sees a part of that."""


@dataclass(frozen=True, slots=True)
class Hot:
    """Partitions as they are, and `lists` with the sums of all of their slots."""

    partitions: tuple[Spot, ...] = ()
    lists: tuple[Spot, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.partitions)


@dataclass(frozen=True, slots=True)
class Hottest:
    """Looks for them in the window."""

    window: Window
    naming: Naming
    servers: int = 1

    def now(self) -> Hot:
        """Of the hottest alone the lists are summed, which takes a look at every slot that they might have."""
        named = [(place, self.naming.find(place)) for place in self._warm()]
        spots = [
            (Spot(place, found.collection if found else "", self.window.steps(place)), found) for place, found in named
        ]
        spots.sort(key=lambda one: (one[0].share, one[0].throttled), reverse=True)
        lists = dict.fromkeys(found for _, found in spots[:MOST] if found)
        sums = sorted(map(self._sum, lists), key=lambda spot: spot.share, reverse=True)
        return Hot(tuple(spot for spot, _ in spots[:MOST]), tuple(sums))

    def _spot(self, place: Place, found: Listed | None) -> Spot:
        return Spot(place, found.collection if found else "", self.window.steps(place))

    def _warm(self) -> dict[Place, None]:
        return dict.fromkeys(place for one in self.window.recent() for place in _warm(one, self.servers))

    def _sum(self, one: Listed) -> Spot:
        """The slots that are not warm count as well."""
        none: Steps = {}
        return Spot(one.whole, one.collection, reduce(added, map(self.window.steps, one.slots()), none))


def _warm(sketch: Sketch[Place], servers: int) -> Iterator[Place]:
    read, write = (WARM * STEP * limit / servers for limit in (READ_LIMIT, WRITE_LIMIT))
    return (place for place, one in sketch if one.throttled or one.read >= read or one.write >= write)
