"""Whatever the parameters of a DynamoDB call are, a tenant's session neither shows nor changes a neighbour's items."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.local import gate_access
from keyfence.store.keys import Fence
from keyfence_iam.tenant import CONTROL_PLANE_PREFIX, TenantId
from tests import tier
from tests.failures.tenant_snapshot import TenantItems
from tests.iam.gate.server.raw_client import Caller
from tests.isolation.catalogue_calls import Call, calls, example_key
from tests.isolation.fuzz.random_calls import CallMutator
from tests.isolation.fuzz.signed_request import dynamodb_request, outcome, send
from tests.random_run import RandomRun
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine

CALLS = tier.size(default=400, full=2_000)
CANARY = "zq-neighbour"
OWN, NEIGHBOUR = TenantId("acme"), TenantId("acme1")
REFUSALS = {
    "AccessDeniedException", "ValidationException", "SerializationException", "UnknownOperationException",
    "ConditionalCheckFailedException", "TransactionCanceledException", "ResourceNotFoundException",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredCanaries:
    """Items with a canary at every key that the calls of the catalogue name."""

    stack: ServiceStack

    def put(self, tenant: TenantId, text: str) -> None:
        for entity in load_domains().entities:
            keys = [example_key(entity, index, Fence.for_tenant(tenant)) for index in entity.keys]
            item: dict[str, Any] = {name: value for key in keys for name, value in key.items()}
            self.stack.engine_client().put_item(TableName=self.stack.settings.table, Item={**item, "note": {"S": text}})


def caller(stack: ServiceStack, tenant: TenantId, *, may_write: bool) -> Caller:
    session = gate_access.tenant_session(stack.gate.session_issuer, tenant, may_write=may_write)
    return Caller(stack.gate, session.credentials)


def tenant_calls(*, may_write: bool) -> list[Call]:
    return [call for call in calls() if call.realm == "tenant" and call.writes <= may_write]


@pytest.mark.parametrize("may_write", [False, True], ids=["reader", "writer"])
async def test_random_calls_neither_show_nor_change_a_neighbour(stack: ServiceStack, may_write: bool) -> None:
    run = RandomRun.from_environment("FUZZ", CALLS)
    StoredCanaries(stack).put(NEIGHBOUR, CANARY)
    StoredCanaries(stack).put(OWN, "own")
    session, neighbours_items = caller(stack, OWN, may_write=may_write), TenantItems.of(stack, NEIGHBOUR)
    before, outcomes = neighbours_items.snapshot(), Counter[str]()
    foreign = (Fence.for_tenant(NEIGHBOUR), Fence("tenant", CONTROL_PLANE_PREFIX), Fence("tenant", ""))
    for case in range(run.examples):
        random = run.random_of(f"call/{may_write}/{case}")
        mutator = CallMutator(random, stack.settings.table, Fence.for_tenant(OWN), foreign)
        call = mutator.random_call(tenant_calls(may_write=may_write))
        reply = await send(stack.gate.url, dynamodb_request(session, call.target, call.body))
        message = f"{run} case call/{may_write}/{case}: {call} has {reply}"
        assert reply.status == 200 or (reply.status < 500 and outcome(reply) in REFUSALS), message
        assert CANARY.encode() not in reply.body, message
        outcomes[outcome(reply)] += 1
    assert neighbours_items.snapshot() == before
    assert min(outcomes["200"], outcomes["AccessDeniedException"]) > run.examples / 20, outcomes


async def test_the_neighbour_itself_reads_the_canaries(stack: ServiceStack) -> None:
    """Proves that the test above can fail."""
    StoredCanaries(stack).put(NEIGHBOUR, CANARY)
    run, found = RandomRun.from_environment("FUZZ", 100), 0
    session = caller(stack, NEIGHBOUR, may_write=False)
    for case in range(100):
        mutator = CallMutator(
            run.random_of(f"owner/{case}"), stack.settings.table, Fence.for_tenant(NEIGHBOUR), [Fence.for_tenant(OWN)]
        )
        call = mutator.random_call(tenant_calls(may_write=False))
        reply = await send(stack.gate.url, dynamodb_request(session, call.target, call.body))
        found += CANARY.encode() in reply.body
    assert found > 5
