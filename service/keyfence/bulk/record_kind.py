"""`RecordKind` (what a noun gives to import and export), the line format, `RecordWriter`."""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Generic, TypeVar

import orjson

from keyfence.bulk.fields import Fields
from keyfence.errors import Conflict
from keyfence.store.dynamodb.flow_control import Pacer
from keyfence.store.entity import Entity, Get, Model
from keyfence.store.expressions import absent
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.writes import ActivityNote, Write, put

Line = dict[str, Any]
IMPORTER = "import"
"""In whose name things are kept of which no line says who made them."""


def record_line(kind: str, **values: object) -> Line:
    """Without what is not there."""
    return {"type": kind, **without_nulls(**values)}


def without_nulls(**values: object) -> Line:
    return {name: value for name, value in values.items() if value is not None}


def encoded(line: Line) -> bytes:
    return orjson.dumps(line) + b"\n"


def differing_fields(one: object, other: object, where: str = "") -> Iterator[tuple[str, object, object]]:
    """The fields in which two lines differ, with what is there in each."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in _either(one, other):
            yield from differing_fields(one.get(name), other.get(name), f"{where}.{name}" if where else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differing_fields(left, right, f"{where}[{at}]")
    elif one != other:
        yield where, one, other


def _either(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*one, *other)))


class AlreadyExists(Conflict):
    """It is in the table by now, and a look there tells whether it is the same."""

    def __init__(self) -> None:
        super().__init__("parts of it are there, and they differ")


def put_new(entity: Entity[Any], model: Model) -> Write[Any]:
    return put(entity, model, when=absent(), on_failure=AlreadyExists)


@dataclass(slots=True)
class RecordWriter:
    """The only hand that writes lines; `known` are the ids of products that were found, which never go."""

    table: Table
    rate: Pacer = field(default_factory=Pacer)
    known: set[str] = field(default_factory=set)

    async def write(self, *writes: Write[Any], note: ActivityNote | None = None) -> None:
        await self.rate.wait(len(writes) + bool(note))
        await self.table.write(*writes, note=note)

    async def ahead(self, parts: Sequence[Write[Any]], beside: int) -> Sequence[Write[Any]]:
        """The parts that fit into a transaction with so many other writes and a note; the rest are written now.

        Nobody sees parts before the thing that they belong to. Those that an interrupted import left are good if they
        are the same."""
        room = max(0, MAX_SPLIT_TRANSACTION_WRITES - 1 - beside)
        for start in range(room, len(parts), MAX_SPLIT_TRANSACTION_WRITES):
            some = parts[start : start + MAX_SPLIT_TRANSACTION_WRITES]
            try:
                await self.write(*some)
            except AlreadyExists:
                await self._compare(some)
        return parts[:room]

    async def _compare(self, parts: Sequence[Write[Any]]) -> None:
        for entity, models in _by_entity(parts):
            keys = [{name: getattr(one, name) for name in entity.keys["table"].fields} for one in models]
            if await self.table.find_many(Get(entity), keys) != models:
                raise AlreadyExists()


def _by_entity(parts: Sequence[Write[Any]]) -> Iterator[tuple[Entity[Any], list[Any]]]:
    for _, some in groupby(parts, key=lambda write: write.entity.type):
        writes = list(some)
        yield writes[0].entity, [write.model for write in writes]


R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind(Generic[R]):
    """How a record of this kind is read from a line and spelled in one, found in the table and written there."""

    name: str
    read: Callable[[Fields], R]
    spell: Callable[[R], Line]
    find: Callable[[Table, Sequence[R]], Awaitable[list[R | None]]]
    """Those that are in the table under the same ids, whole."""
    write: Callable[[RecordWriter, R], Awaitable[None]]
    """In a transaction that makes it be there; There when it was."""
    touches: Callable[[R], Iterable[Hashable]]
    """What records of this kind may have in common, so that they are written in turn."""
