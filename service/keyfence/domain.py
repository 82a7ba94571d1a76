"""`Domain` registers one noun of the API. `Domains` combines all domains of a service and rejects those that clash."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import strawberry

from keyfence.bulk.record_kind import RecordKind, RecordKinds, sort_by_dependency
from keyfence.errors import KeyfenceError
from keyfence.graphql.schema import NodeLoader, build_schema
from keyfence.store.entity import Entity, Get, Index, ItemCollection, Query
from keyfence.store.entity_registry import EntityRegistry
from keyfence.store.writes import ActivityLog

AccessPattern = Get[Any] | Query[Any] | ItemCollection[Any, Any]


class BadDomains(KeyfenceError):
    """Raised if the domains do not fit together. The message has one line for each problem."""


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """An access pattern, and the name of the variable that declares it."""

    name: str
    pattern: AccessPattern

    def __str__(self) -> str:
        return self.name

    @property
    def read(self) -> Get[Any] | Query[Any]:
        """The Get or the Query of this pattern. For an item collection: the Query that reads the children."""
        return self.pattern.children if isinstance(self.pattern, ItemCollection) else self.pattern

    @property
    def index(self) -> Index:
        return self.read.index if isinstance(self.read, Query) else "table"

    @property
    def entities(self) -> tuple[Entity[Any], ...]:
        parents = (self.pattern.parent,) if isinstance(self.pattern, ItemCollection) else ()
        return *parents, self.read.entity

    @property
    def is_control_plane(self) -> bool:
        return self.read.entity.keys[self.index].realm == "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One noun of the API, with everything that the service has to know about it."""

    name: str
    access_patterns: tuple[ModuleType, ...]
    """The modules that declare the entities and the access patterns of the domain."""
    queries: tuple[type, ...] = ()
    mutations: tuple[type, ...] = ()
    types: tuple[type, ...] = ()
    """GraphQL types that `node(id)` can return."""
    nodes: Mapping[str, NodeLoader] = field(default_factory=dict)
    """The loader of `node(id)` for each id prefix, such as `ord`."""
    record_kind: RecordKind[Any] | None = None
    """How records of the domain are imported and exported. None if they are not."""
    new_activity_log: Callable[[str], ActivityLog] | None = None
    """Returns the activity log of an actor. Only the domain that stores activity sets this field."""
    depends_on: tuple[str, ...] = ()
    """Names of the domains without which this domain cannot work."""


@dataclass(frozen=True)
class Domains:
    """The domains of one service, and the modules that declare the entities of the control plane."""

    domains: Sequence[Domain]
    control_plane: tuple[ModuleType, ...] = ()

    def __post_init__(self) -> None:
        if problems := [*self._missing_domains(), *self._duplicates()]:
            raise BadDomains("\n".join(problems))

    @cached_property
    def schema(self) -> strawberry.Schema:
        """The GraphQL schema that tenants use."""
        return build_schema(
            queries=[query for domain in self.domains for query in domain.queries],
            mutations=[mutation for domain in self.domains for mutation in domain.mutations],
            types=[type_ for domain in self.domains for type_ in domain.types],
            node_loaders={prefix: load for domain in self.domains for prefix, load in domain.nodes.items()},
        )

    @cached_property
    def patterns(self) -> tuple[NamedPattern, ...]:
        return tuple(
            NamedPattern(name, value)
            for name, value in _declarations(self._modules())
            if isinstance(value, Get | Query | ItemCollection)
        )

    @cached_property
    def entities(self) -> EntityRegistry:
        declared = [value for _, value in _declarations(self._modules())]
        return EntityRegistry(
            tuple(value for value in declared if isinstance(value, Entity)),
            tuple(value for value in declared if isinstance(value, Query)),
        )

    @cached_property
    def record_kinds(self) -> RecordKinds:
        return sort_by_dependency(domain.record_kind for domain in self.domains if domain.record_kind)

    @cached_property
    def new_activity_log(self) -> Callable[[str], ActivityLog | None]:
        """The function that returns the activity log of an actor. It returns None if no domain stores activity."""
        factories = [domain.new_activity_log for domain in self.domains if domain.new_activity_log]
        return factories[0] if factories else lambda _actor: None

    def _modules(self) -> Iterator[ModuleType]:
        for domain in self.domains:
            yield from domain.access_patterns
        yield from self.control_plane

    def _sharded_collections(self) -> Iterator[str]:
        return (key.sharding.collection for entity in self.entities for key in entity.keys.values() if key.sharding)

    def _missing_domains(self) -> Iterator[str]:
        present = {domain.name for domain in self.domains}
        for domain in self.domains:
            if missing := [name for name in domain.depends_on if name not in present]:
                yield f"the domain {domain.name} needs {' and '.join(missing)}; add it, or leave out {domain.name} too"

    def _duplicates(self) -> Iterator[str]:
        record_kinds = (domain.record_kind.name for domain in self.domains if domain.record_kind)
        yield from _duplicate_names("domain", (domain.name for domain in self.domains))
        yield from _duplicate_names("id prefix", (prefix for domain in self.domains for prefix in domain.nodes))
        yield from _duplicate_names("record kind", record_kinds)
        yield from _duplicate_names("stored type", (entity.type for entity in self.entities))
        yield from _duplicate_names("sharded collection", self._sharded_collections())
        yield from _duplicate_names("access pattern", (pattern.name for pattern in self.patterns))


def _duplicate_names(noun: str, names: Iterator[str]) -> Iterator[str]:
    """Yields an error message for each name that occurs more than once."""
    yield from (f"two domains declare the {noun} {name}" for name, count in Counter(names).items() if count > 1)


def _declarations(modules: Iterator[ModuleType]) -> Iterator[tuple[str, object]]:
    """Yields the name and the value of each variable that is an entity or an access pattern.

    Yields each value only once, even if several modules import it."""
    yielded_ids = set[int]()
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, Entity | Get | Query | ItemCollection) and id(value) not in yielded_ids:
                yielded_ids.add(id(value))
                yield name, value
