"""Whatever is written while a tenant moves, both tables are equal afterwards, and reads are as without the move."""

import asyncio
import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import KeyfenceError
from keyfence.store.expressions import UpdateExpression, absent, present
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import StaleWrite, Write, check, delete, increment, put, update_attributes, update_model
from tests.data.bookshop import OPENING, Book, Count, book, book_by_id, books, chapter, chapters, counts
from tests.fakes.scripted_dynamodb import NAME
from tests.fakes.two_table_dynamodb import DUAL, POOLED, SILO, SWITCHED, Items, TwoTableDynamoDB, backfilled, handle

Step = tuple[str, int, int]
KINDS = ("put", "make", "revise", "tag", "shelve", "place", "delete", "tally", "chapter", "all")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 2), st.integers(1, 5)), max_size=12)


async def writes(table: Table, step: Step) -> list[Write[Any]]:
    """A change that reads first, as the service does."""
    kind, which, number = step
    id = f"b{which}"
    found: Book | None = await table.find(book_by_id, id=id)
    place = UpdateExpression(sets={("place",): {"a": number}})
    there = {
        "revise": lambda before: update_model(
            books, before, replace(before, note=f"n{number}", version=before.version + 1)
        ),
        "all": lambda before: update_model(
            books, before, replace(before, shelf=f"s{number}", version=before.version + 1)
        ),
    }
    made: dict[str, list[Write[Any]]] = {
        "put": [put(books, book(id, tags=frozenset({f"t{number}"})))],
        "make": [put(books, book(id), when=absent())],
        "tag": [update_attributes(books, {"id": id}, UpdateExpression(adds={("tags",): frozenset({f"t{number}"})}))],
        "shelve": [update_attributes(books, {"id": id}, place)],
        "place": [
            update_attributes(books, {"id": id}, UpdateExpression(sets={("place", "b"): number}), when=present("place"))
        ],
        "delete": [delete(books, {"id": id})],
        "tally": [increment(counts, _count(which), "total", number)],
        "chapter": [
            put(chapters, chapter(number, id)),
            check(books, {"id": id}, when=present(), on_failure=StaleWrite),
        ],
        "all": [increment(counts, _count(which), "total", number), delete(chapters, {"book_id": id, "number": number})],
    }
    return [*made.get(kind, []), *([there[kind](found)] if found and kind in there else [])]


def _count(which: int) -> Count:
    return Count(name=f"c{which}", part="p", created_at=OPENING, updated_at=OPENING)


async def carried_out(table: Table, steps: Sequence[Step]) -> list[str]:
    """Returns the result of each change."""
    outcomes = []
    for step in steps:
        try:
            if some := await writes(table, step):
                await table.write(*some)
            outcomes.append("done")
        except KeyfenceError as error:
            outcomes.append(type(error).__name__)
    return outcomes


async def prepared(
    older: Sequence[Step], newer: Sequence[Step], copied: Sequence[bool]
) -> tuple[TwoTableDynamoDB, Items]:
    """A pool table, and copies of some items from an earlier time."""
    dynamodb = TwoTableDynamoDB()
    await carried_out(handle(dynamodb, POOLED), older)
    earlier = copy.deepcopy(dynamodb.tables[NAME])
    await carried_out(handle(dynamodb, POOLED), newer)
    return dynamodb, {key: item for (key, item), some in zip(earlier.items(), copied, strict=False) if some}


@given(STEPS, STEPS, STEPS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_after_copying_both_tables_are_equal_and_the_pool_is_as_without_the_move(
    older: list[Step], newer: list[Step], steps: list[Step], copied: list[bool]
) -> None:
    async def run() -> None:
        dynamodb, silo = await prepared(older, newer, copied)
        alone = TwoTableDynamoDB({NAME: copy.deepcopy(dynamodb.tables[NAME]), SILO: {}})
        dynamodb.tables[SILO] = silo
        outcomes = await carried_out(handle(dynamodb, DUAL), steps)
        assert outcomes == await carried_out(handle(alone, POOLED), steps)
        assert dynamodb.tables[NAME] == alone.tables[NAME]
        await backfilled(dynamodb)
        assert dynamodb.tables[SILO] == alone.tables[NAME]

    asyncio.run(run())


@given(STEPS, STEPS, st.lists(st.booleans(), min_size=12, max_size=12), st.booleans())
def test_an_item_that_was_copied_stays_equal_in_both_tables(
    older: list[Step], steps: list[Step], copied: list[bool], back: bool
) -> None:
    async def run() -> None:
        dynamodb, some = await prepared(older, [], copied)
        read, other, home = (SILO, NAME, SWITCHED) if back else (NAME, SILO, DUAL)
        dynamodb.tables[read], dynamodb.tables[other] = dynamodb.tables[NAME], some
        await carried_out(handle(dynamodb, home), steps)
        assert {key: dynamodb.tables[read].get(key) for key in dynamodb.tables[other]} == dynamodb.tables[other]
        untouched = {key: item for key, item in dynamodb.tables[read].items() if key not in dynamodb.tables[other]}
        before = await prepared(older, [], copied)
        assert untouched.items() <= before[0].tables[NAME].items()

    asyncio.run(run())


@given(st.lists(STEPS, min_size=2, max_size=4), STEPS)
def test_servers_on_both_sides_of_the_switch_leave_two_equal_tables(hands: list[list[Step]], older: list[Step]) -> None:
    async def run() -> None:
        dynamodb, _ = await prepared(older, [], [])
        await backfilled(dynamodb)
        homes: list[TenantLocation] = [DUAL, SWITCHED] * 2
        before = _total(dynamodb.tables[NAME])
        outcomes = await asyncio.gather(
            *(carried_out(handle(dynamodb, home), steps) for home, steps in zip(homes, hands, strict=False))
        )
        assert dynamodb.tables[NAME] == dynamodb.tables[SILO]
        assert _total(dynamodb.tables[NAME]) - before == sum(map(_tallied, hands, outcomes))

    asyncio.run(run())


def _total(items: Items) -> int:
    return sum(int(item["total"]["N"]) for item in items.values() if "total" in item)


def _tallied(steps: Sequence[Step], outcomes: Sequence[str]) -> int:
    done = [step for step, outcome in zip(steps, outcomes, strict=True) if outcome == "done"]
    return sum(number for kind, _, number in done if kind in {"tally", "all"})
