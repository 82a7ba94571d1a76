"""Every entity and every access pattern of the one table."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from keyfence.catalogue import families
from keyfence.catalogue.named import Named
from keyfence.domains.activity import access as activity
from keyfence.domains.categories import access as categories
from keyfence.domains.counters import access as counters
from keyfence.domains.customers import access as customers
from keyfence.domains.groups import access as groups
from keyfence.domains.orders import access as orders
from keyfence.domains.products import access as products
from keyfence.domains.sales import access as sales
from keyfence.domains.sessions import access as sessions
from keyfence.domains.stores import access as stores
from keyfence.domains.users import access as users
from keyfence.store.entity import Entity, Get, Query
from keyfence.store.family import Family
from keyfence.tenancy import access as tenancy
from keyfence.traffic import access as traffic
from keyfence.usage import access as usage

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
    usage,
    traffic,
)


def patterns() -> Iterator[Named]:
    for module in (*ACCESS, families):
        yield from (Named(name, one) for name, one in vars(module).items() if isinstance(one, Get | Query | Family))


def entities() -> Iterator[Entity[Any]]:
    for module in ACCESS:
        yield from (value for value in vars(module).values() if isinstance(value, Entity))
