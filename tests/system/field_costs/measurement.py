"""Fills a tenant, requests every field, and returns what each cost."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from keyfence.access_patterns.report import Measured
from keyfence.app.local_development import connection_options
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.store.dynamodb.client import DynamoDbClient
from keyfence.store.keys import Fence
from keyfence.store.shards import UNSHARDED
from keyfence.store.table import MAX_TRANSACTION_WRITES
from keyfence_iam.tenant import TenantId
from tests.stack import ENGINE_CREDENTIALS, ApiClient, ServiceStack
from tests.system.field_costs.call_recorder import CallRecorder, RecordedCall, measured, watched
from tests.system.field_costs.field_requests import MUTATIONS, QUERIES, document, variables
from tests.system.field_costs.large_tenant import LargeTenant

EVERY_REQUEST = frozenset({"revocation_of_session", "tenant_by_id"})


def start_stack(engine_url: str, issuer: DevelopmentIssuer) -> ServiceStack:
    """Starts the service on a table without a stream. A stream costs no units, but it slows dynoxide down."""
    stack = ServiceStack.start(engine_url, "keyfence-measured", issuer)
    stack.engine_client().update_table(TableName=stack.tables.name, StreamSpecification={"StreamEnabled": False})
    return stack


async def measurements(stack: ServiceStack, size: int) -> tuple[int, tuple[Measured, ...]]:
    """Returns the number of items and the cost of every field, in a new tenant with `size` objects of each kind.

    All names have the same length, since the size of some items is close to a full unit."""
    tenant, crowd = await stack.new_tenant(f"crowd-of-{size:05}"), LargeTenant.of(size)
    filled = await fill(stack, tenant, crowd)
    stack.recorder.client = watch = CallRecorder(stack.recorder.client)
    try:
        with watched():
            return filled, tuple([one async for one in _measured(stack, tenant, crowd, watch)])
    finally:
        stack.recorder.client = watch.client


async def fill(stack: ServiceStack, tenant: TenantId, crowd: LargeTenant) -> int:
    """Writes into the engine, without the gate, in transactions, which are fastest there."""
    fence, table = Fence.for_tenant(tenant), stack.tables.name
    puts = [
        {"Put": {"TableName": table, "Item": entity.to_item(model, fence, UNSHARDED)}}
        for entity, model in crowd.stored()
    ]
    engine = DynamoDbClient(replace(connection_options(stack.settings), endpoint_url=stack.engine_url))
    for start in range(0, len(puts), MAX_TRANSACTION_WRITES):
        await engine.call(
            "TransactWriteItems", {"TransactItems": puts[start : start + MAX_TRANSACTION_WRITES]}, ENGINE_CREDENTIALS
        )
    engine.close()
    return len(puts)


async def _measured(
    stack: ServiceStack, tenant: TenantId, crowd: LargeTenant, watch: CallRecorder
) -> AsyncIterator[Measured]:
    session = stack.api_client(tenant)
    newcomer = replace(session, application=stack.serve())
    watch.taken()
    await newcomer.data("{ viewer { subject tenant { name } } }")
    yield measured("viewer", watch.taken())
    await session.data("{ viewer { subject } }")
    given = variables(crowd)
    for operation, questions in (("query", QUERIES), ("mutation", MUTATIONS)):
        for name, question in questions.items():
            yield measured(name, await _asked(session, watch, document(operation, question), given))


async def _asked(session: ApiClient, watch: CallRecorder, text: str, given: dict[str, str]) -> list[RecordedCall]:
    watch.taken()
    data = await session.data(text, **{name: value for name, value in given.items() if f"${name}" in text})
    assert not _emptied(data), f"{text} costs little because it finds nothing"
    return [one for one in watch.taken() if one.pattern not in EVERY_REQUEST]


def _emptied(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_emptied(part) for part in value.values())
    return value is None or value == [] or (isinstance(value, list) and any(map(_emptied, value)))
