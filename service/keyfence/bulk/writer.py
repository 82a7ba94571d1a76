"""Writing what lines hold: no faster than is wished, and whole things whatever their size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from keyfence.errors import Conflict
from keyfence.store.entity import Entity, Get, Model
from keyfence.store.expressions import absent
from keyfence.store.note import Note
from keyfence.store.rate import Rate
from keyfence.store.table import PORTION, Table
from keyfence.store.write import Write, put


class There(Conflict):
    """It is in the table by now, and a look there tells whether it is the same."""

    def __init__(self) -> None:
        super().__init__("parts of it are there, and they differ")


def new(entity: Entity[Any], model: Model) -> Write[Any]:
    return put(entity, model, when=absent(), otherwise=There)


@dataclass(slots=True)
class Writer:
    """The only hand that writes lines; `known` are the ids of products that were found, which never go."""

    table: Table
    rate: Rate = field(default_factory=Rate)
    known: set[str] = field(default_factory=set)

    async def write(self, *writes: Write[Any], note: Note | None = None) -> None:
        await self.rate.wait(len(writes) + bool(note))
        await self.table.write(*writes, note=note)

    async def ahead(self, parts: Sequence[Write[Any]], beside: int) -> Sequence[Write[Any]]:
        """The parts that fit into a transaction with so many other writes and a note; the rest are written now.

        Nobody sees parts before the thing that they belong to. Those that an interrupted import left are good if they
        are the same."""
        room = max(0, PORTION - 1 - beside)
        for start in range(room, len(parts), PORTION):
            some = parts[start : start + PORTION]
            try:
                await self.write(*some)
            except There:
                await self._compare(some)
        return parts[:room]

    async def _compare(self, parts: Sequence[Write[Any]]) -> None:
        for entity, models in _by_entity(parts):
            keys = [{name: getattr(one, name) for name in entity.keys["table"].fields} for one in models]
            if await self.table.find_many(Get(entity), keys) != models:
                raise There()


def _by_entity(parts: Sequence[Write[Any]]) -> Iterator[tuple[Entity[Any], list[Any]]]:
    for _, some in groupby(parts, key=lambda write: write.entity.type):
        writes = list(some)
        yield writes[0].entity, [write.model for write in writes]
