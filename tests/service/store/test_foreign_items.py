"""Foreign items in an index are logged once in an interval, stop a read early, and are not charged."""

from dataclasses import dataclass
from typing import Any

import pytest
from structlog.testing import capture_logs

from keyfence.errors import Internal
from keyfence.log import LOG_INTERVAL_SECONDS
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.store.entity import entity
from keyfence.store.foreign_items import MAX_FOREIGN_ITEMS, MAX_THROTTLES, ForeignItemLog
from keyfence.store.keys import ControlKey, Fence, KeyPair
from keyfence.store.shards import UNSHARDED
from keyfence.store.table import Table
from tests.data.bookshop import OPENING, Branch, book, books, oldest_books
from tests.fakes.clock import ManualClock
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.fences import tenant_fence
from tests.fakes.scripted_dynamodb import ScriptedDynamoDB, table

ACME = tenant_fence("acme")
listed_branches = entity(
    Branch, table=ControlKey("BRANCH#{id}", "METADATA"), gsi2=ControlKey("BRANCHES", "{created_at}#{id}")
)


def foreign_items(count: int, owner: str = "globex") -> list[dict[str, Any]]:
    """Returns items of another tenant that come before all books in the list of acme."""
    keys = {"GSI2PK": {"S": f"{ACME.index_prefix}BOOKS#00"}, "GSI2SK": {"S": "!"}}
    return [
        {"PK": {"S": f"TENANT#{owner}#X#{number:05}"}, "SK": {"S": "X"}, "type": {"S": "Book"}, **keys}
        for number in range(count)
    ]


def poisoned_table(foreign_count: int, own_count: int = 3) -> tuple[InMemoryDynamoDB, Table]:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *(book(f"b{number}", number) for number in range(own_count)))
    for item in foreign_items(foreign_count):
        dynamodb.items[KeyPair(item["PK"]["S"], item["SK"]["S"])] = item
    return dynamodb, table(dynamodb)


@pytest.mark.parametrize("first", [1, 20, 100])
async def test_a_read_stops_after_three_calls(first: int) -> None:
    dynamodb, handle = poisoned_table(3_000)
    with pytest.raises(Internal, match="foreign_item_in_index"):
        await handle.page(oldest_books, first=first)
    assert len(dynamodb.calls) <= 3
    dynamodb.calls.clear()
    with pytest.raises(Internal):
        await handle.find_first(oldest_books)
    assert len(dynamodb.calls) <= 3


@pytest.mark.parametrize("foreign_count", [1, 99, MAX_FOREIGN_ITEMS])
@pytest.mark.parametrize("first", [1, 2, 3, 20])
async def test_a_list_with_few_foreign_items_is_complete(first: int, foreign_count: int) -> None:
    dynamodb, handle = poisoned_table(foreign_count)
    page = await handle.page(oldest_books, first=first)
    assert [one.id for one in page.items] == ["b0", "b1", "b2"][:first]
    assert page.has_next == (first < 3)
    assert len(dynamodb.calls) <= 4
    assert [one.id async for one in handle.iterate_shards(oldest_books)] == ["b0", "b1", "b2"]


async def test_a_list_of_the_control_plane_is_read_to_its_end() -> None:
    dynamodb, branch = InMemoryDynamoDB(), Branch(id="b1", created_at=OPENING, updated_at=OPENING)
    own_item = listed_branches.to_item(branch, Fence.for_control_plane(), UNSHARDED)
    for item in (own_item, *({**one, "GSI2PK": own_item["GSI2PK"]} for one in foreign_items(1_000))):
        dynamodb.items[KeyPair(item["PK"]["S"], item["SK"]["S"])] = item
    handle = table(dynamodb, fence=Fence.for_control_plane())
    assert (await handle.page(listed_branches.query("gsi2"), first=20)).items == (branch,)
    assert len(dynamodb.calls) == 11


def test_each_pair_of_tenants_is_logged_once_in_an_interval_with_the_number_of_items() -> None:
    clock, counted = ManualClock(), list[int]()
    report = ForeignItemLog(on_count=counted.append, clock=clock)
    with capture_logs() as lines:
        for _ in range(3):
            report(ACME, [*foreign_items(2, "globex"), *foreign_items(1, "initech")])
        report(tenant_fence("hooli"), foreign_items(5, "globex"))
        clock.advance(LOG_INTERVAL_SECONDS)
        report(ACME, foreign_items(1, "globex"))
        report(Fence.for_control_plane(), foreign_items(1, "globex"))
    assert {line["event"] for line in lines} == {"foreign_item_in_index"}
    assert [(line["tenant"], line["owner"], line["items"]) for line in lines] == [
        ("acme", "globex", 2),
        ("acme", "initech", 1),
        ("hooli", "globex", 5),
        ("acme", "globex", 5),
        ("CONTROL#", "globex", 1),
    ]
    assert counted == [3, 3, 3, 5, 1, 1]


def test_the_log_remembers_a_limited_number_of_pairs() -> None:
    report = ForeignItemLog()
    with capture_logs():
        for number in range(MAX_THROTTLES + 10):
            report(ACME, foreign_items(1, f"tenant-{number}"))
    assert len(report._throttles) == MAX_THROTTLES


@pytest.mark.parametrize(
    ("units", "own_count", "foreign_count", "expected"),
    [(4.5, 0, 100, 4.5), (0.5, 0, 3, 0.5), (0.5, 1, 20, 0.0), (4.0, 50, 50, 2.0), (4.5, 50, 50, 2.0), (0.0, 0, 1, 0.0)],
)
async def test_the_units_of_foreign_items_are_refunded_in_half_units(
    units: float, own_count: int, foreign_count: int, expected: float
) -> None:
    own_items = [books.to_item(book(f"b{number}"), ACME, UNSHARDED) for number in range(own_count)]
    items = [*own_items, *foreign_items(foreign_count)]
    client, account = ScriptedDynamoDB([{"Items": items, "ConsumedCapacity": {"CapacityUnits": units}}]), Account()
    handle = table(client)
    handle.caller.meter.accounts = (account,)
    await handle.page(oldest_books, first=100)
    assert (account.charged, account.refunded) == (units, expected)
    assert handle.caller.meter.read_units == units, "the meter itself counts what DynamoDB reports"


@dataclass
class Account:
    """Adds up what it is charged, and what it gets back."""

    charged: float = 0.0
    refunded: float = 0.0

    def add(self, consumed: ConsumedCapacity) -> None:
        self.charged += consumed.read_units

    def refund(self, read_units: float) -> None:
        self.refunded += read_units
