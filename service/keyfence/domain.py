"""`Domain`: the value by which one noun is registered. `Domains`: what all of them give to the rest of the service."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import strawberry

from keyfence.bulk.record_kind import RecordKind, RecordKinds, in_dependency_order
from keyfence.errors import KeyfenceError
from keyfence.graphql.schema import NodeLoader, build_schema
from keyfence.store.entity import Entity, Get, Index, ItemCollection, Query
from keyfence.store.entity_registry import Entities
from keyfence.store.writes import ActivityLog

AccessPattern = Get[Any] | Query[Any] | ItemCollection[Any, Any]


class BadDomains(KeyfenceError):
    """Domains that do not fit together. The message names each problem in a line."""


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """An access pattern under the name of the variable that declares it."""

    name: str
    pattern: AccessPattern

    def __str__(self) -> str:
        return self.name

    @property
    def read(self) -> Get[Any] | Query[Any]:
        """The read that it makes. An item collection is read by the Query of its children, from the parent on."""
        return self.pattern.children if isinstance(self.pattern, ItemCollection) else self.pattern

    @property
    def index(self) -> Index:
        return self.read.index if isinstance(self.read, Query) else "table"

    @property
    def entities(self) -> tuple[Entity[Any], ...]:
        parents = (self.pattern.parent,) if isinstance(self.pattern, ItemCollection) else ()
        return *parents, self.read.entity

    @property
    def of_control_plane(self) -> bool:
        return self.read.entity.keys[self.index].realm == "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Everything that the service needs to know of one noun."""

    name: str
    access_patterns: tuple[ModuleType, ...]
    """The modules that declare its entities and its access patterns."""
    queries: tuple[type, ...] = ()
    mutations: tuple[type, ...] = ()
    types: tuple[type, ...] = ()
    """GraphQL types that `node(id)` returns."""
    nodes: Mapping[str, NodeLoader] = field(default_factory=dict)
    """The loader of `node(id)`, by the prefix of the ids."""
    records: RecordKind[Any] | None = None
    """How its records are imported and exported, if they are."""
    activity_log: Callable[[str], ActivityLog] | None = None
    """Makes the log of what one actor changes, in the one domain that keeps such a log."""
    needs: tuple[str, ...] = ()
    """Names of the domains without which this one cannot work."""


@dataclass(frozen=True)
class Domains:
    """The domains of one service, and the modules that declare the control plane's own entities."""

    domains: Sequence[Domain]
    control_plane: tuple[ModuleType, ...] = ()

    def __post_init__(self) -> None:
        if problems := [*self._missing(), *self._repeated()]:
            raise BadDomains("\n".join(problems))

    @cached_property
    def schema(self) -> strawberry.Schema:
        """The tenants' GraphQL schema."""
        return build_schema(
            queries=[query for domain in self.domains for query in domain.queries],
            mutations=[mutation for domain in self.domains for mutation in domain.mutations],
            types=[type_ for domain in self.domains for type_ in domain.types],
            nodes={prefix: load for domain in self.domains for prefix, load in domain.nodes.items()},
        )

    @cached_property
    def patterns(self) -> tuple[NamedPattern, ...]:
        return tuple(
            NamedPattern(name, value)
            for name, value in _declared(self._modules())
            if isinstance(value, Get | Query | ItemCollection)
        )

    @cached_property
    def entities(self) -> Entities:
        declared = [value for _, value in _declared(self._modules())]
        return Entities(
            tuple(value for value in declared if isinstance(value, Entity)),
            tuple(value for value in declared if isinstance(value, Query)),
        )

    @cached_property
    def record_kinds(self) -> RecordKinds:
        return in_dependency_order(domain.records for domain in self.domains if domain.records)

    def activity_log(self, actor: str) -> ActivityLog | None:
        """Returns the log of what `actor` changes, or None if no domain keeps one."""
        makers = (domain.activity_log for domain in self.domains if domain.activity_log)
        return next((make(actor) for make in makers), None)

    def _modules(self) -> Iterator[ModuleType]:
        for domain in self.domains:
            yield from domain.access_patterns
        yield from self.control_plane

    def _collections(self) -> Iterator[str]:
        return (key.shard.collection for entity in self.entities for key in entity.keys.values() if key.shard)

    def _missing(self) -> Iterator[str]:
        present = {domain.name for domain in self.domains}
        for domain in self.domains:
            if missing := [name for name in domain.needs if name not in present]:
                yield f"the domain {domain.name} needs {' and '.join(missing)}; add it, or leave out {domain.name} too"

    def _repeated(self) -> Iterator[str]:
        yield from _twice("domain", (domain.name for domain in self.domains))
        yield from _twice("id prefix", (prefix for domain in self.domains for prefix in domain.nodes))
        yield from _twice("record kind", (domain.records.name for domain in self.domains if domain.records))
        yield from _twice("stored type", (entity.type for entity in self.entities))
        yield from _twice("sharded collection", self._collections())
        yield from _twice("access pattern", (pattern.name for pattern in self.patterns))


def _twice(kind: str, names: Iterator[str]) -> Iterator[str]:
    yield from (f"two domains declare the {kind} {name}" for name, count in Counter(names).items() if count > 1)


def _declared(modules: Iterator[ModuleType]) -> Iterator[tuple[str, object]]:
    """Each entity and access pattern once, although modules import them from each other."""
    seen = set[int]()
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, Entity | Get | Query | ItemCollection) and id(value) not in seen:
                seen.add(id(value))
                yield name, value
