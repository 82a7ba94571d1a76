"""Reading a list in pages returns every item once, with any page size, also if items are added meanwhile."""

import asyncio
from itertools import count

import pytest

from tests import tier
from tests.stack import ServiceStack
from tests.system.lists.list_cases import LIST_CASES, ListCase, Shop, new_shop
from tests.system.lists.list_reader import ListReader, paged_fields

MIN_LENGTHS = {1: 15, 7: 22, 100: 101}
"""For each page size, how long the list is at least when reading starts. Each list needs more than one page."""
MAX_ADDED = 6
"""How many elements are added to a list while it is read."""
SAMPLE_STEP = tier.size(default=6, full=1)
"""The full tier reads every list, the default tier each sixth."""


PARAMETERS = [
    pytest.param(name, case, id="-".join((name, *case.arguments)))
    for name, cases in LIST_CASES.items()
    for case in cases
]


def test_every_list_of_the_schema_has_a_case() -> None:
    assert set(paged_fields()) == set(LIST_CASES)


async def _add_elements(shop: Shop, case: ListCase, numbers: "count[int]", element_count: int) -> list[str]:
    ids: list[str] = []
    while element_count > len(ids):
        ids += await asyncio.gather(*(case.add(shop, next(numbers)) for _ in range(min(4, element_count - len(ids)))))
    return ids


async def _read_while_adding(shop: Shop, reader: ListReader, numbers: "count[int]") -> list[str]:
    """Reads the list to its end. Adds an element during each of the first pages, and returns the added ones."""
    added_ids: list[str] = []
    while not reader.is_finished:
        if len(added_ids) == MAX_ADDED:
            await reader.read_page()
        else:
            _, new_id = await asyncio.gather(reader.read_page(), reader.case.add(shop, next(numbers)))
            added_ids.append(new_id)
    return added_ids


@pytest.mark.one_engine
@pytest.mark.parametrize(("name", "case"), PARAMETERS[::SAMPLE_STEP])
async def test_reading_a_growing_list_in_pages_returns_every_item_once(
    stack: ServiceStack, name: str, case: ListCase
) -> None:
    numbers, shop = count(1), await new_shop(stack)
    existing_ids: list[str] = []
    for page_size, min_length in MIN_LENGTHS.items():
        existing_ids += await _add_elements(shop, case, numbers, min_length - len(existing_ids))
        reader = ListReader(shop=shop, name=name, case=case, page_size=page_size)
        added_ids = await _read_while_adding(shop, reader, numbers)
        complete_ids = await ListReader(shop=shop, name=name, case=case, page_size=50).read_all()
        assert len(set(reader.ids)) == len(reader.ids)
        assert set(existing_ids) <= set(reader.ids) <= set(complete_ids)
        assert reader.ids == [id for id in complete_ids if id in set(reader.ids)]
        assert set(existing_ids + added_ids) <= set(complete_ids)
        if case.adds_at_end and page_size == 1:
            assert reader.ids == complete_ids
        existing_ids += added_ids
