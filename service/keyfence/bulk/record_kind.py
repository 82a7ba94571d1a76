"""`RecordKind`: what a domain gives to import and export. `RecordWriter`: how records are written."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Generic, TypeVar

from keyfence.bulk.json_fields import Fields
from keyfence.bulk.json_lines import Line
from keyfence.errors import Conflict
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.entity import Entity, Get, Model
from keyfence.store.expressions import absent
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.writes import ActivityNote, Write, put

IMPORTER = "import"
"""The actor of an imported record whose line does not name one."""
LOAD_BATCH = 50

R = TypeVar("R")
Key = Any
"""Identifies a record among those of its kind, such as an id. It is hashable."""


class AlreadyExists(Conflict):
    """Raised when a record that is to be written is in the table already. It may be equal or different."""

    def __init__(self) -> None:
        super().__init__("the table has parts of this record that differ from the line")


@dataclass(slots=True)
class RecordWriter:
    """Writes imported records, at a limited rate."""

    table: Table
    rate: Pacer = field(default_factory=Pacer)
    known_ids: set[str] = field(default_factory=set)
    """Ids of referenced records that were found before. It has only ids of records that are never deleted."""

    async def write(self, *writes: Write[Any], note: ActivityNote | None = None) -> None:
        await self.rate.wait(len(writes) + bool(note))
        await self.table.write(*writes, note=note)

    async def write_overflow(self, parts: Sequence[Write[Any]], others: int) -> Sequence[Write[Any]]:
        """Returns the parts that fit into one transaction with `others` more writes and a note; writes the rest now.

        Parts are not visible before the record that they belong to is written. Parts that an interrupted import left
        behind are accepted if they are equal; otherwise AlreadyExists is raised."""
        room = max(0, MAX_SPLIT_TRANSACTION_WRITES - 1 - others)
        for start in range(room, len(parts), MAX_SPLIT_TRANSACTION_WRITES):
            portion = parts[start : start + MAX_SPLIT_TRANSACTION_WRITES]
            try:
                await self.write(*portion)
            except AlreadyExists:
                await self._require_equal(portion)
        return parts[:room]

    async def _require_equal(self, parts: Sequence[Write[Any]]) -> None:
        for entity, models in _by_entity(parts):
            keys = [{name: getattr(model, name) for name in entity.keys["table"].fields} for model in models]
            if await self.table.find_many(Get(entity), keys) != models:
                raise AlreadyExists()


def _no_references(_: Any) -> Iterable[tuple[str, Key]]:
    return ()


def _never_expires(_record: Any, _now: datetime) -> bool:
    return False


def _no_guard(_: Table) -> AbstractAsyncContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind(Generic[R]):
    """How records of one kind are parsed, formatted, read and written."""

    name: str
    """The `type` of its lines."""
    plural: str
    from_fields: Callable[[Fields], R]
    to_line: Callable[[R], Line]
    key: Callable[[R], Key]
    load: Callable[[Table, Sequence[Key]], Awaitable[list[R | None]]]
    """Returns the stored record for each key, complete with its parts, or None."""
    load_all: Callable[[Table], AsyncIterator[R]]
    """Yields all records of the tenant, in an order that stays the same as long as they do. May yield one twice."""
    write: Callable[[RecordWriter, R], Awaitable[None]]
    """Writes a record that is not stored yet. Raises AlreadyExists if it is."""
    lock_keys: Callable[[R], Iterable[Hashable]]
    """Records that have a lock key in common are written one after the other, all others concurrently."""
    references: Callable[[R], Iterable[tuple[str, Key]]] = _no_references
    """Yields the kind and the key of each record whose line must come before this record's line."""
    depends_on: tuple[str, ...] = ()
    """The kinds that `references` names."""
    is_expired: Callable[[R, datetime], bool] = _never_expires
    """Whether a record is past its time to live, so that it is neither exported nor imported."""
    export_guard: Callable[[Table], AbstractAsyncContextManager[None]] = _no_guard
    """Raises Conflict, on entering or leaving, if the table changes in a way that would make the export incomplete."""


RecordKinds = Mapping[str, RecordKind[Any]]
"""All kinds by name, each after those that it depends on."""


def in_dependency_order(kinds: Iterable[RecordKind[Any]]) -> RecordKinds:
    by_name = {kind.name: kind for kind in kinds}
    ordered: dict[str, RecordKind[Any]] = {}

    def add(kind: RecordKind[Any]) -> None:
        for name in kind.depends_on:
            if name not in ordered:
                add(by_name[name])
        ordered[kind.name] = kind

    for kind in by_name.values():
        add(kind)
    return ordered


def put_new(entity: Entity[Any], model: Model) -> Write[Any]:
    return put(entity, model, when=absent(), on_failure=AlreadyExists)


async def load_in_batches(
    ids: AsyncIterator[Key], load: Callable[[Sequence[Key]], Awaitable[Sequence[R | None]]]
) -> AsyncIterator[R]:
    """Yields the records with these ids, without those that do not exist."""
    batch: list[Key] = []
    async for id in ids:
        batch.append(id)
        if len(batch) == LOAD_BATCH:
            for record in await load(batch):
                if record is not None:
                    yield record
            batch = []
    for record in await load(batch) if batch else ():
        if record is not None:
            yield record


def _by_entity(parts: Sequence[Write[Any]]) -> Iterator[tuple[Entity[Any], list[Any]]]:
    for _, group in groupby(parts, key=lambda write: write.entity.type):
        writes = list(group)
        yield writes[0].entity, [write.model for write in writes]
