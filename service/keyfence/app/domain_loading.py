"""The built-in domains, and those that KEYFENCE_DOMAINS adds or leaves out."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from keyfence.domain import BadDomains, Domain, Domains
from keyfence.domains.activity.domain import DOMAIN as ACTIVITY
from keyfence.domains.categories.domain import DOMAIN as CATEGORIES
from keyfence.domains.counters.domain import DOMAIN as COUNTERS
from keyfence.domains.customers.domain import DOMAIN as CUSTOMERS
from keyfence.domains.groups.domain import DOMAIN as GROUPS
from keyfence.domains.orders.domain import DOMAIN as ORDERS
from keyfence.domains.products.domain import DOMAIN as PRODUCTS
from keyfence.domains.sales.domain import DOMAIN as SALES
from keyfence.domains.sessions.domain import DOMAIN as SESSIONS
from keyfence.domains.stores.domain import DOMAIN as STORES
from keyfence.domains.users.domain import DOMAIN as USERS
from keyfence.hot_partitions import autopilot, fleet_traffic
from keyfence.jobs import job_record, scan_checkpoint
from keyfence.jobs.move import shadow_differences
from keyfence.tenancy import access_patterns as tenancy
from keyfence.tenancy import suspensions
from keyfence.usage import hourly_usage

BUILT_IN = (
    USERS,
    GROUPS,
    CUSTOMERS,
    ORDERS,
    STORES,
    SESSIONS,
    PRODUCTS,
    CATEGORIES,
    SALES,
    COUNTERS,
    ACTIVITY,
)
REQUIRED = frozenset({USERS.name, GROUPS.name, SESSIONS.name, ACTIVITY.name})
"""Domains that the service itself uses: the first user of a tenant, revoked tokens and the activity log."""
CONTROL_PLANE = (
    tenancy,
    suspensions,
    job_record,
    scan_checkpoint,
    shadow_differences,
    hourly_usage,
    fleet_traffic,
    autopilot,
)
"""Modules that declare the entities of the control plane."""


@cache
def load_domains(selection: tuple[str, ...] = ()) -> Domains:
    """Returns the built-in domains, changed as KEYFENCE_DOMAINS says.

    `-name` leaves out a built-in domain; `package.module:NAME` adds the `Domain` of that name.
    Raises BadDomains if an entry cannot be used, or if the domains do not fit together."""
    left_out = frozenset(entry.removeprefix("-") for entry in selection if entry.startswith("-"))
    if unknown := left_out - {domain.name for domain in BUILT_IN}:
        raise BadDomains(f"there is no built-in domain {', '.join(sorted(unknown))} to leave out")
    if kept := left_out & REQUIRED:
        raise BadDomains(f"the service itself needs the domain {', '.join(sorted(kept))}; do not leave it out")
    added = [_import(entry) for entry in selection if not entry.startswith("-")]
    return Domains((*_without(left_out), *added), CONTROL_PLANE)


def _without(left_out: frozenset[str]) -> Iterable[Domain]:
    return (domain for domain in BUILT_IN if domain.name not in left_out)


def _import(entry: str) -> Domain:
    module, _, name = entry.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadDomains(f"cannot import the domain {entry!r} ({error}); write package.module:NAME") from error
    if not isinstance(found, Domain):
        raise BadDomains(f"{entry!r} is not a keyfence.domain.Domain")
    return found
