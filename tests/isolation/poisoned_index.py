"""Items that a hostile session writes into a list of another tenant, and the cost of that list."""

from typing import Any, NamedTuple

from keyfence.domains.users.access_patterns import newest_users
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.stack import ServiceStack

BATCH = 25
"""DynamoDB's limit for a BatchWriteItem."""


class ListCost(NamedTuple):
    """A page of users, and what DynamoDB reports for it."""

    users: int
    calls: int
    read_units: float


def poison_users(stack: ServiceStack, attacker: TenantId, index_prefix: str, count: int) -> None:
    """Writes items with the attacker's session. Their index keys begin with `index_prefix`, and they come before all
    users in the order of the list."""
    client, table = stack.boto_client(attacker), stack.tables.name
    items = [_poisoned_item(attacker, index_prefix, number) for number in range(count)]
    for start in range(0, count, BATCH):
        puts: list[Any] = [{"PutRequest": {"Item": item}} for item in items[start : start + BATCH]]
        assert not client.batch_write_item(RequestItems={table: puts})["UnprocessedItems"]


async def cost_of_users(table: Table) -> ListCost:
    """Reads the first page of users with a table handle that has made no call yet."""
    page = await table.page(newest_users, first=20)
    return ListCost(len(page.items), table.caller.meter.calls["Query"], table.caller.meter.read_units)


def _poisoned_item(attacker: TenantId, index_prefix: str, number: int) -> dict[str, Any]:
    return {
        "PK": {"S": f"{tenant_key_prefix(attacker)}POISON#{number}"},
        "SK": {"S": "POISON"},
        "GSI2PK": {"S": f"{index_prefix}USERS#00"},
        "GSI2SK": {"S": f"~{number}"},
    }
