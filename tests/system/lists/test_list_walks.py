"""Reading a list in pages returns every item once, with any page size, also if items are added meanwhile."""

import asyncio
from itertools import count

import pytest

from tests import tier
from tests.stack import ServiceStack
from tests.system.lists.list_growth import GROWTHS, Growth, Shop, open_shop
from tests.system.lists.list_walk import ListWalk, connections

SIZES = {1: 15, 7: 22, 100: 101}
"""How big the steps are, and how long the list is at least when they begin: never over with the first."""
ADDED = 6
SAMPLE = tier.size(default=6, full=1)
"""Every list in the full tier, each sixth by default."""


WALKS = [
    pytest.param(name, growth, id="-".join((name, *growth.arguments)))
    for name, growths in GROWTHS.items()
    for growth in growths
]


def test_every_list_of_the_schema_is_read_in_pages() -> None:
    assert set(connections()) == set(GROWTHS)


async def _filled(shop: Shop, growth: Growth, numbers: "count[int]", missing: int) -> list[str]:
    made: list[str] = []
    while missing > len(made):
        made += await asyncio.gather(*(growth.add(shop, next(numbers)) for _ in range(min(4, missing - len(made)))))
    return made


async def _walked(shop: Shop, walk: ListWalk, numbers: "count[int]") -> list[str]:
    """To the end, while something is added during each of the first pages; says what."""
    added: list[str] = []
    while not walk.over:
        if len(added) == ADDED:
            await walk.next_page()
        else:
            _, new = await asyncio.gather(walk.next_page(), walk.growth.add(shop, next(numbers)))
            added.append(new)
    return added


@pytest.mark.one_engine
@pytest.mark.parametrize(("name", "growth"), WALKS[::SAMPLE])
async def test_reading_a_growing_list_in_pages_returns_every_item_once(
    stack: ServiceStack, name: str, growth: Growth
) -> None:
    numbers, shop = count(1), await open_shop(stack)
    there: list[str] = []
    for size, least in SIZES.items():
        there += await _filled(shop, growth, numbers, least - len(there))
        walk = ListWalk(shop=shop, name=name, growth=growth, size=size)
        added = await _walked(shop, walk, numbers)
        now = await ListWalk(shop=shop, name=name, growth=growth, size=50).to_end()
        assert len(set(walk.seen)) == len(walk.seen)
        assert set(there) <= set(walk.seen) <= set(now)
        assert walk.seen == [one for one in now if one in set(walk.seen)]
        assert set(there + added) <= set(now)
        if growth.at_end and size == 1:
            assert walk.seen == now
        there += added
