"""`Entities`: all entities of one table, and what follows from them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from keyfence.store.entity import Entity


@dataclass(frozen=True)
class Entities:
    """The entities of tenants and of the control plane that one table stores."""

    all: tuple[Entity[Any], ...] = ()

    def __iter__(self) -> Iterator[Entity[Any]]:
        return iter(self.all)

    @cached_property
    def of_tenants(self) -> Mapping[str, Entity[Any]]:
        """The entities that tenants have, by stored type."""
        return {entity.type: entity for entity in self.all if entity.keys["table"].realm == "tenant"}
