"""Loads the domains: the built-in ones, changed as KEYFENCE_DOMAINS says."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from keyfence import domains
from keyfence.domain import BadDomains, Domain, Domains
from keyfence.hot_partitions import fleet_traffic, shard_autopilot
from keyfence.jobs import access_patterns as jobs
from keyfence.jobs import scan_checkpoint
from keyfence.jobs.move import read_differences
from keyfence.tenancy import access_patterns as tenancy
from keyfence.tenancy import suspensions
from keyfence.usage import hourly_usage

REQUIRED_DOMAINS = frozenset({"users", "groups", "sessions", "activity"})
"""The names of domains that cannot be left out. The service uses them for the first user of a tenant, for revoked
tokens and for the activity log."""
CONTROL_PLANE_MODULES = (
    tenancy,
    suspensions,
    jobs,
    scan_checkpoint,
    read_differences,
    hourly_usage,
    fleet_traffic,
    shard_autopilot,
)
"""The modules that declare the entities of the control plane."""


@cache
def built_in_domains() -> tuple[Domain, ...]:
    """Returns the `DOMAIN` of every folder of `keyfence.domains`, sorted by the names of the folders."""
    folders = sorted(module.name for module in iter_modules(domains.__path__) if module.ispkg)
    return tuple(_import_domain(f"keyfence.domains.{folder}.domain:DOMAIN") for folder in folders)


@cache
def load_domains(selection: tuple[str, ...] = ()) -> Domains:
    """Returns the built-in domains, changed as KEYFENCE_DOMAINS says.

    `-name` leaves out a built-in domain; `package.module:NAME` adds the `Domain` of that name.
    Raises BadDomains if an entry cannot be used, or if the domains do not fit together."""
    left_out_names = frozenset(entry.removeprefix("-") for entry in selection if entry.startswith("-"))
    if unknown_names := left_out_names - {domain.name for domain in built_in_domains()}:
        raise BadDomains(f"there is no built-in domain {', '.join(sorted(unknown_names))} to leave out")
    if required_names := left_out_names & REQUIRED_DOMAINS:
        raise BadDomains(
            f"the service itself needs the domain {', '.join(sorted(required_names))}; do not leave it out"
        )
    kept_domains = [domain for domain in built_in_domains() if domain.name not in left_out_names]
    added_domains = [_import_domain(entry) for entry in selection if not entry.startswith("-")]
    return Domains((*kept_domains, *added_domains), CONTROL_PLANE_MODULES)


def _import_domain(entry: str) -> Domain:
    module, _, name = entry.partition(":")
    try:
        domain = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadDomains(f"cannot import the domain {entry!r} ({error}); write package.module:NAME") from error
    if not isinstance(domain, Domain):
        raise BadDomains(f"{entry!r} is not a keyfence.domain.Domain")
    return domain
