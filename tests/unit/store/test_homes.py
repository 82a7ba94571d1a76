"""Nobody acts on where items were when that can no longer be relied on."""

from dataclasses import dataclass, replace

import pytest

from iam.boundary import TenantId
from iam.vending.wanted import Placement
from service.errors import Throttled
from service.store.calls import CredentialSource
from service.store.home import Home
from service.store.shards import ShardMap
from service.store.table import Table
from service.store.tables import Tables
from service.store.write import put

from .bookshop import book, book_by_id, books, oldest_books
from .scripted import table
from .shelves import Shelves


@dataclass
class Clock:
    """A clock that stands."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def held(shelves: Shelves, home: Home, clock: Clock) -> Table:
    handle = table(shelves)
    return replace(handle, caller=replace(handle.caller, home=home, clock=clock))


async def test_after_its_time_neither_reads_nor_writes_go_out() -> None:
    shelves, clock = Shelves(), Clock()
    handle = held(shelves, Home(tenant=TenantId("acme"), until=10.0), clock)
    await handle.write(put(books, book("b1")))
    clock.now = 10.0
    assert await handle.find(book_by_id, id="b1") == book("b1")
    clock.now = 10.1
    sent = len(shelves.calls)
    with pytest.raises(Throttled, match="where its items are"):
        await handle.find(book_by_id, id="b1")
    with pytest.raises(Throttled):
        await handle.write(put(books, book("b2")))
    with pytest.raises(Throttled):
        await handle.page(oldest_books, first=1)
    assert len(shelves.calls) == sent


async def test_a_home_that_is_kept_fresh_is_gone_by_from_the_next_call_on() -> None:
    shelves, clock = Shelves(), Clock()
    home = Home(tenant=TenantId("acme"), until=10.0)
    handle = held(shelves, home, clock)
    clock.now, home.until, home.shards = 11.0, 20.0, ShardMap.even({"books": 4})
    await handle.page(oldest_books, first=1)
    assert len(shelves.calls) == 4


def test_a_handle_on_nobodys_home_is_refused(made: Tables) -> None:
    with pytest.raises(TypeError, match="no tenant's home"):
        made.tenant(Home(), writes=False)


@pytest.fixture
def made() -> Tables:
    handle = table(Shelves())
    return Tables(client=handle.caller.client, name="t", sealer=handle.sealer, credentials=Nobody())


class Nobody:
    """Gives no credentials to anybody."""

    def tenant(self, tenant: TenantId, *, writes: bool, placement: Placement) -> CredentialSource:
        raise AssertionError(tenant)

    def control(self, *, writes: bool) -> CredentialSource:
        raise AssertionError(writes)
