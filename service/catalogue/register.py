"""Every entity and every access pattern of the one table."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from service.catalogue import families
from service.catalogue.named import Named
from service.domains.activity import access as activity
from service.domains.categories import access as categories
from service.domains.counters import access as counters
from service.domains.customers import access as customers
from service.domains.groups import access as groups
from service.domains.orders import access as orders
from service.domains.products import access as products
from service.domains.sales import access as sales
from service.domains.sessions import access as sessions
from service.domains.stores import access as stores
from service.domains.users import access as users
from service.store.entity import Entity, Get, Query
from service.store.family import Family
from service.tenancy import access as tenancy
from service.traffic import access as traffic
from service.usage import access as usage

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
