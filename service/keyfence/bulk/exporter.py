"""`Exporter`: yields all records of a tenant as lines. A record comes after the records that it refers to."""

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
    """Exports a tenant, also while it is served. Two exports have the same order if nothing changed between them.

    A record that is created after its kind was read is exported if another exported record refers to it."""

    table: Table
    kinds: RecordKinds
    now: Callable[[], datetime] = timestamps.utc_now
    _exported: set[tuple[str, Hashable]] = field(default_factory=set)
    """Kind and key of each exported record."""

    async def lines(self) -> AsyncIterator[Line]:
        async with AsyncExitStack() as guards:
            for kind in self.kinds.values():
                await guards.enter_async_context(kind.export_guard(self.table))
            for kind in self.kinds.values():
                async for record in kind.load_all(self.table):
                    async for line in self._lines_of(kind, record):
                        yield line

    async def _lines_of(self, kind: RecordKind[Any], record: Any) -> AsyncIterator[Line]:
        """Yields the lines of the records that this record refers to, and then its own line."""
        identity = (kind.name, kind.key(record))
        if identity in self._exported or kind.is_expired(record, self.now()):
            return
        self._exported.add(identity)
        for kind_name, keys in self._missing_references(kind, record).items():
            referenced_kind = self.kinds[kind_name]
            for referenced in await referenced_kind.load(self.table, keys):
                if referenced is not None:
                    async for line in self._lines_of(referenced_kind, referenced):
                        yield line
        yield kind.to_line(record)

    def _missing_references(self, kind: RecordKind[Any], record: Any) -> dict[str, list[Any]]:
        """Returns the keys of the referenced records that are not exported yet, by kind."""
        missing: dict[str, list[Any]] = {}
        for kind_name, key in dict.fromkeys(kind.references(record)):
            if (kind_name, key) not in self._exported:
                missing.setdefault(kind_name, []).append(key)
        return missing
