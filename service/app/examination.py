"""What would keep settings from serving."""

from collections.abc import Callable, Iterator

from service.app.connections import production_sts, production_wire
from service.auth.tokens import operator_verifier, tenant_verifier
from service.settings import Settings
from service.store.client import BotoClient
from service.store.schema import Unreachable


def obstacles(settings: Settings) -> list[str]:
    """What would keep these settings from serving, found by trying: each in a line."""
    found = []
    for name, attempt in _attempts(settings):
        try:
            attempt()
        except (ValueError, *Unreachable) as error:
            found.append(f"{name}: {error}")
    return found


def _attempts(settings: Settings) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "KEYFENCE_ISSUERS", lambda: tenant_verifier(settings)
    yield "KEYFENCE_ADMIN_ISSUERS", lambda: operator_verifier(settings)
    yield "DynamoDB's endpoint", lambda: BotoClient(production_wire(settings)).close()
    yield "AWS credentials", lambda: production_sts(settings)
