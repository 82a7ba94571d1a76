"""For any writes while a tenant moves, both tables are equal afterwards, and reads are the same as without the move."""

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
from tests.fakes.scripted_dynamodb import TABLE_NAME
from tests.fakes.two_table_dynamodb import DUAL, POOLED, SILO, SWITCHED, Items, TwoTableDynamoDB, copy_all_items, handle

Step = tuple[str, int, int]
KINDS = ("put", "make", "revise", "tag", "shelve", "place", "delete", "tally", "chapter", "all")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 2), st.integers(1, 5)), max_size=12)


async def writes_of(table: Table, step: Step) -> list[Write[Any]]:
    """Returns the writes of a step. Some steps read the item first, as the service does."""
    kind, which, number = step
    id = f"b{which}"
    found: Book | None = await table.find(book_by_id, id=id)
    place = UpdateExpression(sets={("place",): {"a": number}})
    updates = {
        "revise": lambda before: update_model(
            books, before, replace(before, note=f"n{number}", version=before.version + 1)
        ),
        "all": lambda before: update_model(
            books, before, replace(before, shelf=f"s{number}", version=before.version + 1)
        ),
    }
    writes_by_kind: dict[str, list[Write[Any]]] = {
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
    return [*writes_by_kind.get(kind, []), *([updates[kind](found)] if found and kind in updates else [])]


def _count(which: int) -> Count:
    return Count(name=f"c{which}", part="p", created_at=OPENING, updated_at=OPENING)


async def run_steps(table: Table, steps: Sequence[Step]) -> list[str]:
    """Makes the writes of all steps. Returns "done" or the type of the error for each step."""
    outcomes = []
    for step in steps:
        try:
            if step_writes := await writes_of(table, step):
                await table.write(*step_writes)
            outcomes.append("done")
        except KeyfenceError as error:
            outcomes.append(type(error).__name__)
    return outcomes


async def prepare_tables(
    older: Sequence[Step], newer: Sequence[Step], is_copied: Sequence[bool]
) -> tuple[TwoTableDynamoDB, Items]:
    """Returns a pool table after both lists of steps, and copies of some items from before the `newer` steps."""
    dynamodb = TwoTableDynamoDB()
    await run_steps(handle(dynamodb, POOLED), older)
    earlier = copy.deepcopy(dynamodb.tables[TABLE_NAME])
    await run_steps(handle(dynamodb, POOLED), newer)
    return dynamodb, {
        key: item for (key, item), step_writes in zip(earlier.items(), is_copied, strict=False) if step_writes
    }


@given(STEPS, STEPS, STEPS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_after_copying_both_tables_are_equal_and_the_pool_is_as_without_the_move(
    older: list[Step], newer: list[Step], steps: list[Step], is_copied: list[bool]
) -> None:
    async def run() -> None:
        dynamodb, silo = await prepare_tables(older, newer, is_copied)
        unmoved = TwoTableDynamoDB({TABLE_NAME: copy.deepcopy(dynamodb.tables[TABLE_NAME]), SILO: {}})
        dynamodb.tables[SILO] = silo
        outcomes = await run_steps(handle(dynamodb, DUAL), steps)
        assert outcomes == await run_steps(handle(unmoved, POOLED), steps)
        assert dynamodb.tables[TABLE_NAME] == unmoved.tables[TABLE_NAME]
        await copy_all_items(dynamodb)
        assert dynamodb.tables[SILO] == unmoved.tables[TABLE_NAME]

    asyncio.run(run())


@given(STEPS, STEPS, st.lists(st.booleans(), min_size=12, max_size=12), st.booleans())
def test_an_item_that_was_copied_stays_equal_in_both_tables(
    older: list[Step], steps: list[Step], is_copied: list[bool], is_switched: bool
) -> None:
    async def run() -> None:
        dynamodb, step_writes = await prepare_tables(older, [], is_copied)
        read, other, location = (SILO, TABLE_NAME, SWITCHED) if is_switched else (TABLE_NAME, SILO, DUAL)
        dynamodb.tables[read], dynamodb.tables[other] = dynamodb.tables[TABLE_NAME], step_writes
        await run_steps(handle(dynamodb, location), steps)
        assert {key: dynamodb.tables[read].get(key) for key in dynamodb.tables[other]} == dynamodb.tables[other]
        untouched = {key: item for key, item in dynamodb.tables[read].items() if key not in dynamodb.tables[other]}
        before = await prepare_tables(older, [], is_copied)
        assert untouched.items() <= before[0].tables[TABLE_NAME].items()

    asyncio.run(run())


@given(st.lists(STEPS, min_size=2, max_size=4), STEPS)
def test_servers_on_both_sides_of_the_switch_leave_two_equal_tables(
    steps_by_server: list[list[Step]], older: list[Step]
) -> None:
    async def run() -> None:
        dynamodb, _ = await prepare_tables(older, [], [])
        await copy_all_items(dynamodb)
        locations: list[TenantLocation] = [DUAL, SWITCHED] * 2
        before = _total(dynamodb.tables[TABLE_NAME])
        outcomes = await asyncio.gather(
            *(
                run_steps(handle(dynamodb, location), steps)
                for location, steps in zip(locations, steps_by_server, strict=False)
            )
        )
        assert dynamodb.tables[TABLE_NAME] == dynamodb.tables[SILO]
        assert _total(dynamodb.tables[TABLE_NAME]) - before == sum(map(_counted, steps_by_server, outcomes))

    asyncio.run(run())


def _total(items: Items) -> int:
    return sum(int(item["total"]["N"]) for item in items.values() if "total" in item)


def _counted(steps: Sequence[Step], outcomes: Sequence[str]) -> int:
    done = [step for step, outcome in zip(steps, outcomes, strict=True) if outcome == "done"]
    return sum(number for kind, _, number in done if kind in {"tally", "all"})
