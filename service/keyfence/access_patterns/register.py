"""Every entity and every access pattern of the one table."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from keyfence.access_patterns.named import NamedPattern
from keyfence.domains.activity import activity_log as activity
from keyfence.domains.categories import access_patterns as categories
from keyfence.domains.counters import counter as counters
from keyfence.domains.customers import access_patterns as customers
from keyfence.domains.customers import graphql
from keyfence.domains.groups import access_patterns as groups
from keyfence.domains.orders import access_patterns as orders
from keyfence.domains.products import access_patterns as products
from keyfence.domains.sales import sales
from keyfence.domains.sessions import revocation as sessions
from keyfence.domains.stores import access_patterns as stores
from keyfence.domains.users import access_patterns as users
from keyfence.hot_partitions import fleet as traffic
from keyfence.jobs import job as jobs
from keyfence.jobs.move import differences
from keyfence.jobs.offboard import start as offboarding
from keyfence.store.entity import Entity, Get, ItemCollection, Query
from keyfence.tenancy import access_patterns as tenancy
from keyfence.tenancy import suspensions
from keyfence.usage import hourly_usage as usage

ACCESS: tuple[ModuleType, ...] = (
    users,
    groups,
    customers,
    orders,
    stores,
    sessions,
    products,
    categories,
    sales,
    counters,
    activity,
    tenancy,
    suspensions,
    offboarding,
    jobs,
    differences,
    usage,
    traffic,
)


def patterns() -> Iterator[NamedPattern]:
    declared = _declared((*ACCESS, graphql))
    yield from (NamedPattern(name, one) for name, one in declared if isinstance(one, Get | Query | ItemCollection))


def entities() -> Iterator[Entity[Any]]:
    yield from (value for _, value in _declared(ACCESS) if isinstance(value, Entity))


def _declared(modules: tuple[ModuleType, ...]) -> Iterator[tuple[str, object]]:
    """The values of these modules, each once, since modules import from each other."""
    seen = set()
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, Entity | Get | Query | ItemCollection) and id(value) not in seen:
                seen.add(id(value))
                yield name, value
