"""Parents that are read together with their children."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from keyfence.store.entity import BadEntity, Entity, M, Model, Query
from keyfence.store.stretch import Stretch, after_all
from keyfence.store.template import Template

P = TypeVar("P", bound=Model)


@dataclass(frozen=True, slots=True)
class Family(Generic[P, M]):
    """A parent and its children, read in one Query since they are neighbours in one partition."""

    parent: Entity[P]
    children: Query[M]

    def __post_init__(self) -> None:
        if self.children.index != "table" or not self.children.begins_with or self.children.key.shard:
            raise BadEntity("children must be reached in the table, by the tag that their sort keys begin with")
        if self._shape(self.parent) != self._shape(self.children.entity):
            raise BadEntity(f"{self.parent.type} and {self.children.entity.type} are not kept in one partition")
        if self.parent_sort.fields or (self.parent_sort.text > self.children.begins_with) != self.children.newest_first:
            raise BadEntity(f"in the order of {self.children.entity.type} its {self.parent.type} does not come first")

    @property
    def parent_sort(self) -> Template:
        return self.parent.keys["table"].sort

    @staticmethod
    def _shape(entity: Entity[Any]) -> list[str | None]:
        return [one if isinstance(one, str) else None for one in entity.keys["table"].partition.segments]

    @property
    def takes(self) -> tuple[str, ...]:
        return self.parent.keys["table"].partition.fields

    def stretch(self) -> Stretch:
        """From the parent to the last of the children, whichever way round they lie."""
        prefix, sort = self.children.begins_with, self.parent_sort.text
        return Stretch(low=min(prefix, sort), high=sort if sort > prefix else after_all(prefix))
