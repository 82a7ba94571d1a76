"""Fills a tenant, requests every field, and measures the cost of each request."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from keyfence.access_patterns.report import FieldCost
from keyfence.app.local_development import connection_options
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.store.dynamodb.client import DynamoDbClient
from keyfence.store.shards import UNSHARDED
from keyfence.store.table import MAX_TRANSACTION_WRITES
from keyfence_iam.tenant import TenantId
from tests.fakes.fences import tenant_fence
from tests.stack import ENGINE_CREDENTIALS, ApiClient, ServiceStack
from tests.system.field_costs.call_recorder import CallRecorder, RecordedCall, field_cost, track_patterns
from tests.system.field_costs.field_requests import MUTATIONS, QUERIES, request_document, request_variables
from tests.system.field_costs.large_tenant import LargeTenant

PATTERNS_OF_EVERY_REQUEST = frozenset({"revocations_of_token", "tenant_by_id"})
"""Reads that belong to no field. The cost of `viewer` contains them."""


def start_stack(engine_url: str, issuer: DevelopmentIssuer) -> ServiceStack:
    """Starts the service on a table without a stream. A stream costs no units, but it slows dynoxide down."""
    stack = ServiceStack.start(engine_url, "keyfence-measured", issuer)
    stack.engine_client().update_table(TableName=stack.tables.name, StreamSpecification={"StreamEnabled": False})
    return stack


async def measure_field_costs(stack: ServiceStack, size: int) -> tuple[int, tuple[FieldCost, ...]]:
    """Returns the number of items and the cost of every field, in a new tenant with `size` objects of each kind.

    The ids of all measured tenants have the same length: some items are so close to a full capacity unit that a longer
    id would cost one more."""
    tenant_id, content = await stack.new_tenant(f"tenant-{size:07}"), LargeTenant.with_size(size)
    item_count = await fill(stack, tenant_id, content)
    stack.recorder.client = recorder = CallRecorder(stack.recorder.client)
    try:
        with track_patterns():
            return item_count, tuple([cost async for cost in _field_costs(stack, tenant_id, content, recorder)])
    finally:
        stack.recorder.client = recorder.client


async def fill(stack: ServiceStack, tenant_id: TenantId, content: LargeTenant) -> int:
    """Writes all items to the engine, without the gate, and returns their number. Transactions are fastest there."""
    fence, table = tenant_fence(tenant_id), stack.tables.name
    puts = [
        {"Put": {"TableName": table, "Item": entity.to_item(model, fence, UNSHARDED)}}
        for entity, model in content.stored_models()
    ]
    engine = DynamoDbClient(replace(connection_options(stack.settings), endpoint_url=stack.engine_url))
    for start in range(0, len(puts), MAX_TRANSACTION_WRITES):
        await engine.call(
            "TransactWriteItems", {"TransactItems": puts[start : start + MAX_TRANSACTION_WRITES]}, ENGINE_CREDENTIALS
        )
    engine.close()
    return len(puts)


async def _field_costs(
    stack: ServiceStack, tenant_id: TenantId, content: LargeTenant, recorder: CallRecorder
) -> AsyncIterator[FieldCost]:
    client = stack.api_client(tenant_id)
    client_of_new_server = replace(client, application=stack.serve())
    recorder.take_calls()
    await client_of_new_server.data("{ viewer { subject tenant { name } } }")
    yield field_cost("viewer", recorder.take_calls())
    await client.data("{ viewer { subject } }")
    variables = request_variables(content)
    for operation, selections in (("query", QUERIES), ("mutation", MUTATIONS)):
        for name, selection in selections.items():
            calls = await _record_request(client, recorder, request_document(operation, selection), variables)
            yield field_cost(name, calls)


async def _record_request(
    client: ApiClient, recorder: CallRecorder, document: str, variables: dict[str, str]
) -> list[RecordedCall]:
    recorder.take_calls()
    used_variables = {name: value for name, value in variables.items() if f"${name}:" in document}
    data = await client.data(document, **used_variables)
    assert not _has_empty_part(data), f"{document} costs little because it finds nothing"
    return [call for call in recorder.take_calls() if call.pattern not in PATTERNS_OF_EVERY_REQUEST]


def _has_empty_part(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_empty_part(part) for part in value.values())
    return value is None or value == [] or (isinstance(value, list) and any(map(_has_empty_part, value)))
