"""Counts the cost of a page by the number of shards: Queries, rounds of Queries, and items read per item returned.

The numbers do not depend on an engine. "fresh" is a list that always had this number of shards. "grown" is a list whose
older half was written when it had one shard. "all in 0" is a list that has just grown from one shard. All pages are
read from the newest item to the oldest.

Run: uv run python -m tests.benchmarks.list_page_costs [--items 4000]
"""

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass, field

from keyfence.store.codec import Item
from keyfence.store.sharded_query import ShardReader, SortOrder, merge_shards
from keyfence.store.shards import shard_of

SHARD_COUNTS = (1, 2, 8, 32, 256)
PAGE_SIZES = (20, 100)
BY_SORT_KEY = SortOrder("SK", newest_first=True)


@dataclass(slots=True)
class InMemoryShards:
    """Shards in memory that count the Queries and the items read for one page."""

    items: dict[int, list[str]]
    """The sort keys of each shard, newest first."""
    queries: Counter[str] = field(default_factory=Counter)
    """The number of Queries of each shard."""
    items_read: int = 0

    async def fetch(self, shard: ShardReader, count: int) -> None:
        """Answers one Query of a shard with up to `count` items."""
        start = shard.start_key["SK"]["S"] if shard.start_key else "~"
        sort_keys = [text for text in self.items.get(int(shard.partition), []) if text < start]
        shard.items += [{"SK": {"S": text}} for text in sort_keys[:count]]
        shard.start_key = {"SK": {"S": sort_keys[count - 1]}} if len(sort_keys) >= count else None
        shard.is_exhausted = shard.start_key is None
        self.queries[shard.partition] += 1
        self.items_read += len(sort_keys[:count])

    async def page(self, shards: int, first: int, after: Item | None) -> list[Item]:
        return await merge_shards(
            [ShardReader(str(shard), after) for shard in range(shards)], BY_SORT_KEY, first + 1, self.fetch
        )


@dataclass(frozen=True, slots=True)
class PageCost:
    """Averages over the pages of one list."""

    queries: float
    rounds: float
    """The largest number of Queries of one shard. Shards are queried at the same time."""
    items_read: float
    """Items read for each item returned."""


def items_by_shard(items: int, shards: int, *, written_to_one_shard: int = 0) -> dict[int, list[str]]:
    """Returns the sort keys of each shard, newest first. The oldest items were all written to shard 0."""
    sort_keys: dict[int, list[str]] = {}
    for number in reversed(range(items)):
        shard = 0 if number < written_to_one_shard else shard_of(f"item-{number}", shards)
        sort_keys.setdefault(shard, []).append(f"{number:08}")
    return sort_keys


async def mean_page_cost(items: dict[int, list[str]], shards: int, first: int) -> PageCost:
    """Reads all full pages, newest items first, and returns their mean cost."""
    after, costs = None, list[PageCost]()
    while True:
        in_memory = InMemoryShards(items)
        page = await in_memory.page(shards, first, after)
        if len(page) <= first:
            break
        costs.append(PageCost(in_memory.queries.total(), max(in_memory.queries.values()), in_memory.items_read / first))
        after = page[first - 1]
    return PageCost(*(sum(column) / len(costs) for column in zip(*map(_columns, costs), strict=True)))


def _columns(cost: PageCost) -> tuple[float, float, float]:
    return cost.queries, cost.rounds, cost.items_read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4000)
    arguments = parser.parse_args()
    print(f"{'':<12}{'first':>6}{'shards':>7}{'Queries':>10}{'rounds':>8}{'read/item':>12}")
    for first in PAGE_SIZES:
        for shards in SHARD_COUNTS:
            _print_cost("fresh", first, shards, items_by_shard(arguments.items, shards))
        half = arguments.items // 2
        _print_cost("grown 1 to 8", first, 8, items_by_shard(arguments.items, 8, written_to_one_shard=half))
        _print_cost("all in 0", first, 8, items_by_shard(arguments.items, 8, written_to_one_shard=arguments.items))


def _print_cost(name: str, first: int, shards: int, items: dict[int, list[str]]) -> None:
    cost = asyncio.run(mean_page_cost(items, shards, first))
    print(f"{name:<12}{first:>6}{shards:>7}{cost.queries:>10.2f}{cost.rounds:>8.2f}{cost.items_read:>12.2f}")


if __name__ == "__main__":
    main()
