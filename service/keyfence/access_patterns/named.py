"""An access pattern under the name that its page gives it."""

from dataclasses import dataclass
from typing import Any

from keyfence.store.entity import Entity, Get, Index, ItemCollection, Query

Pattern = Get[Any] | Query[Any] | ItemCollection[Any, Any]


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """A pattern and its name."""

    name: str
    pattern: Pattern

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    @property
    def reads(self) -> Get[Any] | Query[Any]:
        """The call that it makes; a family's is that of its children, begun a little earlier."""
        return self.pattern.children if isinstance(self.pattern, ItemCollection) else self.pattern

    @property
    def index(self) -> Index:
        return self.reads.index if isinstance(self.reads, Query) else "table"

    @property
    def entities(self) -> tuple[Entity[Any], ...]:
        parents = (self.pattern.parent,) if isinstance(self.pattern, ItemCollection) else ()
        return *parents, self.reads.entity

    @property
    def of_control_plane(self) -> bool:
        return self.reads.entity.keys[self.index].realm == "control"

    def row(self) -> dict[str, str]:
        partition, sort = str(self.reads.entity.keys[self.index]).split(" / ")
        query = self.reads if isinstance(self.reads, Query) else None
        return {
            "pattern": self.title,
            "operation": "Query" if query else "GetItem",
            "index": self.index.upper() if query and self.index != "table" else "table",
            "partition": partition,
            "sort": self._sort(query) if query and query.begins_with else sort,
            "order": ("newest first" if query.newest_first else "ascending") if query else "",
            "entity": " and ".join(entity.type for entity in self.entities),
        }

    def _sort(self, query: Query[Any]) -> str:
        if isinstance(self.pattern, ItemCollection):
            return f"{self.pattern.parent_sort.text} to {query.begins_with}"
        return f"begins with {query.begins_with}"
