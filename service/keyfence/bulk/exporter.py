"""`Exporter`: all records of a tenant as lines, each after the lines that it refers to."""

from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from keyfence.bulk.json_lines import Line
from keyfence.bulk.record_kind import RecordKind, RecordKinds
from keyfence.store import timestamps
from keyfence.store.table import Table


@dataclass(frozen=True, slots=True)
class Exporter:
    """Reads a tenant that may be in use. The order of the lines stays the same as long as the tenant does.

    A record that was created after its kind was read is exported too, if another record refers to it."""

    table: Table
    kinds: RecordKinds
    now: Callable[[], datetime] = timestamps.utc_now
    _exported: set[tuple[str, Hashable]] = field(default_factory=set)
    """Kind and key of each record that has a line."""

    async def lines(self) -> AsyncIterator[Line]:
        async with AsyncExitStack() as guards:
            for kind in self.kinds.values():
                await guards.enter_async_context(kind.export_guard(self.table))
            for kind in self.kinds.values():
                async for record in kind.load_all(self.table):
                    async for line in self._with_references(kind, record):
                        yield line

    async def _with_references(self, kind: RecordKind[Any], record: Any) -> AsyncIterator[Line]:
        name = (kind.name, kind.key(record))
        if name in self._exported or kind.is_expired(record, self.now()):
            return
        self._exported.add(name)
        for other, keys in self._missing(kind, record).items():
            for found in await self.kinds[other].load(self.table, keys):
                if found is not None:
                    async for line in self._with_references(self.kinds[other], found):
                        yield line
        yield kind.to_line(record)

    def _missing(self, kind: RecordKind[Any], record: Any) -> dict[str, list[Any]]:
        missing: dict[str, list[Any]] = {}
        for name, key in dict.fromkeys(kind.references(record)):
            if (name, key) not in self._exported:
                missing.setdefault(name, []).append(key)
        return missing
