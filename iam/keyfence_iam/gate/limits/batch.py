"""Parts of a batch: what goes on to the engine, and what comes back unprocessed."""

from collections.abc import Container, Iterator, Mapping
from itertools import count
from typing import Any

UNPROCESSED = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


def selected(requested: Mapping[str, Any], numbers: Container[int]) -> dict[str, Any]:
    """The requests of these numbers, counted over all tables in their order, as a batch spells them."""
    return dict(_selected(requested, numbers))


def _selected(requested: Mapping[str, Any], numbers: Container[int]) -> Iterator[tuple[str, Any]]:
    number = count()
    for table, entry in requested.items():
        requests = entry if isinstance(entry, list) else entry["Keys"]
        if kept := [request for request in requests if next(number) in numbers]:
            yield table, kept if isinstance(entry, list) else {**entry, "Keys": kept}


def joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two selections of the same batch as one."""
    both = dict(one)
    for table, entry in other.items():
        both[table] = _both(both[table], entry) if table in both else entry
    return both


def _both(one: Any, other: Any) -> Any:
    return [*one, *other] if isinstance(one, list) else {**one, "Keys": [*one["Keys"], *other["Keys"]]}
