"""DynamoDB with scripted responses, and a table handle on any fake client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence.store.cursor import CursorCodec
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.shards import UNSHARDED
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import parse_tenant_id
from tests.fakes.fences import tenant_fence

TABLE_NAME = "keyfence"
CURSOR_KEY = b"0123456789abcdef0123456789abcdef"
CREDENTIALS = Credentials("AKIA", "secret", "token")
RETRY_POLICY = RetryPolicy(attempts=3, first_pause_seconds=0.0)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the client received."""

    operation: str
    parameters: Mapping[str, Any]


@dataclass
class ScriptedDynamoDB:
    """Returns its answers one after the other. An answer that is an error is raised."""

    answers: list[Answer | DynamoDbError]
    calls: list[Call] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.calls.append(Call(operation, parameters))
        answer = self.answers.pop(0)
        if isinstance(answer, DynamoDbError):
            raise answer
        return answer

    def close(self) -> None: ...


def table(client: DynamoDb, tenant: str = "acme", **options: Any) -> Table:
    """Returns a table handle of a tenant. Options other than `shards` and `retry_policy` are arguments of Table."""
    location = TenantLocation(tenant=parse_tenant_id(tenant), shards=options.pop("shards", UNSHARDED))
    retry_policy = options.pop("retry_policy", RETRY_POLICY)
    caller = DynamoDbCaller(
        client=client, table=TABLE_NAME, credentials=credentials, retry_policy=retry_policy, location=location
    )
    return Table(
        **{
            "fence": tenant_fence(tenant),
            "caller": caller,
            "cursors": CursorCodec([CURSOR_KEY], clock=lambda: 1_800_000_000.0),
            **options,
        },
    )


async def credentials() -> Credentials:
    return CREDENTIALS
