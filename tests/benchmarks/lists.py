"""Counts what a page costs by the number of shards: queries, rounds of queries, and items read per item shown.

Nothing of it depends on an engine. "fresh" is a list that was always in so many slots; "grown" is one whose older half
was written when there was one slot; "all in 0" is one that has just grown. Pages are taken
one after the other from the newest item to the oldest.

Run: uv run python -m tests.benchmarks.lists [--items 4000]
"""

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass, field

from keyfence.store.codec import Item
from keyfence.store.sharded_query import ShardReader, SortOrder, merge_shards
from keyfence.store.shards import shard_of

COUNTS = (1, 2, 8, 32, 256)
SIZES = (20, 100)
BY_SORT = SortOrder("SK", newest_first=True)


@dataclass(slots=True)
class Slots:
    """The items of each shard, newest first, and the reads since the page began."""

    items: dict[int, list[str]]
    queries: Counter[str] = field(default_factory=Counter)
    read: int = 0

    async def fetch(self, slot: ShardReader, count: int) -> None:
        """Answers one Query. It reports more items unless it reached the end."""
        start = slot.start_key["SK"]["S"] if slot.start_key else "~"
        found = [text for text in self.items.get(int(slot.partition), []) if text < start]
        slot.items += [{"SK": {"S": text}} for text in found[:count]]
        slot.start_key = {"SK": {"S": found[count - 1]}} if len(found) >= count else None
        slot.is_exhausted = slot.start_key is None
        self.queries[slot.partition] += 1
        self.read += len(found[:count])

    async def page(self, slots: int, first: int, after: Item | None) -> list[Item]:
        return await merge_shards(
            [ShardReader(str(slot), after) for slot in range(slots)], BY_SORT, first + 1, self.fetch
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Averages over the pages of one list."""

    queries: float
    rounds: float
    read: float
    """Items read for each item shown."""


def kept(items: int, slots: int, *, before: int = 0) -> dict[int, list[str]]:
    """Returns items of which the first `before` were written into one shard."""
    made: dict[int, list[str]] = {}
    for number in reversed(range(items)):
        slot = 0 if number < before else shard_of(f"item-{number}", slots)
        made.setdefault(slot, []).append(f"{number:08}")
    return made


async def walked(items: dict[int, list[str]], slots: int, first: int) -> Cost:
    """Reads all full pages, newest items first."""
    after, costs = None, list[Cost]()
    while True:
        taken = Slots(items)
        page = await taken.page(slots, first, after)
        if len(page) <= first:
            break
        costs.append(Cost(taken.queries.total(), max(taken.queries.values()), taken.read / first))
        after = page[first - 1]
    return Cost(*(sum(column) / len(costs) for column in zip(*map(_columns, costs), strict=True)))


def _columns(cost: Cost) -> tuple[float, float, float]:
    return cost.queries, cost.rounds, cost.read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4000)
    given = parser.parse_args()
    print(f"{'':<12}{'first':>6}{'slots':>7}{'Queries':>10}{'rounds':>8}{'read/shown':>12}")
    for first in SIZES:
        for slots in COUNTS:
            _show("fresh", first, slots, kept(given.items, slots))
        half = given.items // 2
        _show("grown 1 to 8", first, 8, kept(given.items, 8, before=half))
        _show("all in 0", first, 8, kept(given.items, 8, before=given.items))


def _show(name: str, first: int, slots: int, items: dict[int, list[str]]) -> None:
    cost = asyncio.run(walked(items, slots, first))
    print(f"{name:<12}{first:>6}{slots:>7}{cost.queries:>10.2f}{cost.rounds:>8.2f}{cost.read:>12.2f}")


if __name__ == "__main__":
    main()
