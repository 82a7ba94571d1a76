"""`RecordKind`: how the records of a domain are imported and exported. `RecordWriter`: writes imported records."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Generic, TypeVar

from keyfence.bulk.json_lines import Line
from keyfence.bulk.record_fields import Fields
from keyfence.errors import Conflict
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.entity import Entity, Get, Model
from keyfence.store.expressions import absent
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.writes import ActivityNote, Write, put

IMPORTER = "import"
"""The actor of an imported record whose line names no actor."""
LOAD_BATCH = 50
"""How many records an export loads at a time."""

R = TypeVar("R")
Key = Any
"""Identifies a record among the records of its kind, such as an id. A key is hashable."""


class AlreadyExists(Conflict):
    """Raised if the table already has the record that is to be written. The stored record may be equal or different."""

    def __init__(self) -> None:
        super().__init__("the table has parts of this record that differ from the line")


@dataclass(slots=True)
class RecordWriter:
    """Writes imported records, at a limited rate."""

    table: Table
    pacer: Pacer = field(default_factory=Pacer)
    known_ids: set[str] = field(default_factory=set)
    """Ids of referenced records that exist. Only for records that are never deleted, so that the ids stay correct."""

    async def write(self, *writes: Write[Any], note: ActivityNote | None = None) -> None:
        await self.pacer.wait(len(writes) + bool(note))
        await self.table.write(*writes, note=note)

    async def write_overflow(self, parts: Sequence[Write[Any]], other_writes: int) -> Sequence[Write[Any]]:
        """Returns the parts that fit into one transaction with `other_writes` more writes and an activity note.

        Writes all further parts now. They stay invisible until the record that they belong to is written. If an
        interrupted import has left equal parts behind, they are used. If they differ, AlreadyExists is raised."""
        fitting = max(0, MAX_SPLIT_TRANSACTION_WRITES - 1 - other_writes)
        for start in range(fitting, len(parts), MAX_SPLIT_TRANSACTION_WRITES):
            batch = parts[start : start + MAX_SPLIT_TRANSACTION_WRITES]
            try:
                await self.write(*batch)
            except AlreadyExists:
                await self._require_equal(batch)
        return parts[:fitting]

    async def _require_equal(self, parts: Sequence[Write[Any]]) -> None:
        for entity, models in _models_by_entity(parts):
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
    """The `type` of the lines of this kind."""
    plural: str
    from_fields: Callable[[Fields], R]
    to_line: Callable[[R], Line]
    key: Callable[[R], Key]
    load: Callable[[Table, Sequence[Key]], Awaitable[list[R | None]]]
    """Returns the stored record for each key, complete with its parts, or None."""
    load_all: Callable[[Table], AsyncIterator[R]]
    """Yields all records of the tenant. The order is always the same if no record changes. May yield a record twice."""
    write: Callable[[RecordWriter, R], Awaitable[None]]
    """Writes a record that is not stored yet. Raises AlreadyExists if the record is stored."""
    lock_keys: Callable[[R], Iterable[Hashable]]
    """Records that have a lock key in common are written one after the other, all others concurrently."""
    references: Callable[[R], Iterable[tuple[str, Key]]] = _no_references
    """Yields the kind and the key of each record whose line must come before this record's line."""
    depends_on: tuple[str, ...] = ()
    """The kinds that `references` names."""
    is_expired: Callable[[R, datetime], bool] = _never_expires
    """Whether a record is past its time to live. Such a record is neither exported nor imported."""
    export_guard: Callable[[Table], AbstractAsyncContextManager[None]] = _no_guard
    """A context manager around the export. At its start or end, it raises Conflict if the export is incomplete."""


RecordKinds = Mapping[str, RecordKind[Any]]
"""All kinds by name. Each kind comes after the kinds that it depends on."""


def sort_by_dependency(kinds: Iterable[RecordKind[Any]]) -> RecordKinds:
    kinds_by_name = {kind.name: kind for kind in kinds}
    sorted_kinds: dict[str, RecordKind[Any]] = {}

    def add(kind: RecordKind[Any]) -> None:
        for name in kind.depends_on:
            if name not in sorted_kinds:
                add(kinds_by_name[name])
        sorted_kinds[kind.name] = kind

    for kind in kinds_by_name.values():
        add(kind)
    return sorted_kinds


def put_new(entity: Entity[Any], model: Model) -> Write[Any]:
    """Returns a write that raises AlreadyExists if the table has an item with this key."""
    return put(entity, model, when=absent(), on_failure=AlreadyExists)


async def load_in_batches(
    ids: AsyncIterator[Key], load: Callable[[Sequence[Key]], Awaitable[Sequence[R | None]]]
) -> AsyncIterator[R]:
    """Yields the records with these ids. Skips ids that do not exist."""
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


def _models_by_entity(parts: Sequence[Write[Any]]) -> Iterator[tuple[Entity[Any], list[Any]]]:
    for _, group in groupby(parts, key=lambda write: write.entity.type):
        writes = list(group)
        yield writes[0].entity, [write.model for write in writes]
