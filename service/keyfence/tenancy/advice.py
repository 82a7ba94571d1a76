"""How many slots a collection should have for the traffic that it sees: the rule of advice and of automatic growth."""

from collections.abc import Mapping
from math import ceil

from keyfence.store.shards import LIMIT
from keyfence.tenancy.quotas import Tier

FULL = 0.7
"""Slots that are asked for more than this part of what they carry are too few."""

AIM = 0.5
"""The part that is asked of them after growth. It is less than FULL, so that the next growth is a good way off."""

LEAST_QUERY = 0.5
"""Units that a Query costs however little it finds."""

BOUNDS: Mapping[Tier, int] = {Tier.FREE: 1, Tier.STANDARD: 4, Tier.PREMIUM: 32, Tier.ENTERPRISE: LIMIT}
"""So many slots a collection may get without an operator."""


def least(peak_units_per_second: float, limit: float) -> int:
    """The fewest slots that carry the peak, if it falls on all of them alike."""
    return max(1, ceil(peak_units_per_second / limit))


def recommended(peak_units_per_second: float, limit: float, current: int) -> int:
    """As many as there are while they are not full, and never fewer.

    The peak is of what was asked for, also in vain: a full slot gives out its limit and no more, so that what was
    consumed would never say that it is too little."""
    if peak_units_per_second <= FULL * current * limit:
        return current
    return max(current, least(peak_units_per_second, AIM * limit))


def recommended_for_reads(peak_units_per_second: float, limit: float, current: int, units_per_query: float) -> int:
    """A list asks every slot for its part of a page, so that more slots help only while the parts become cheaper.

    Else growth would feed itself: at the least that a Query costs, twice the slots are twice the units."""
    cheaper = current * max(1, int(units_per_query / LEAST_QUERY))
    return min(cheaper, recommended(peak_units_per_second, limit, current))


def within(tier: Tier, current: int, wanted: int) -> int:
    """What of it may be done without an operator; what an operator gave beyond the bound stays."""
    return max(current, min(wanted, BOUNDS[tier]))
