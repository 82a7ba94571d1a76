"""What would keep settings from serving."""

from collections.abc import Callable, Iterator

from keyfence.app.connections import production_sts, production_wire
from keyfence.auth.verifier import operator_verifier, tenant_verifier
from keyfence.settings import Settings
from keyfence.store.dynamodb.client import DynamoDbClient
from keyfence.store.dynamodb.table_definition import Unreachable


def startup_problems(settings: Settings) -> list[str]:
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
    yield "DynamoDB's endpoint", lambda: DynamoDbClient(production_wire(settings)).close()
    yield "AWS credentials", lambda: production_sts(settings)
