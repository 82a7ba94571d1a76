"""An onboarding that crashes at any call is finished by the same request, with the same result as without a crash."""

import asyncio
import json
import re
import signal
import sys
from dataclasses import replace

import pytest

from keyfence.admin.onboarding import OnboardingResult
from keyfence.store.table_handles import Tables
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.failures.crashing_client import Crash, CrashingClient, Moment
from tests.failures.onboarding_process import new_onboarding, onboarding_request
from tests.failures.tenant_snapshot import Snapshot
from tests.fakes.fences import INDEX_TAGS
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.stack import ServiceStack

LAST_CALL = 5
"""The calls 0 to 5: find the tenant, add it, find the owner, create the owner, read the tenant, activate the tenant."""
PROVIDER = TenantIdentityProvider(issuer="unused")
CRASH_POINTS: list[tuple[int, Moment]] = [
    (call_number, moment) for call_number in range(LAST_CALL + 1) for moment in ("before", "after")
]
NOTHING_STORED = {(0, "before"), (0, "after"), (1, "before")}
KILL_POINTS: list[tuple[int, Moment]] = [(1, "after"), (3, "before"), (3, "after")]


async def onboard(stack: ServiceStack, tables: Tables, id: str) -> OnboardingResult:
    return await new_onboarding(tables, stack.connections)(onboarding_request(id, PROVIDER.jwks()))


def stored_items(stack: ServiceStack, id: str) -> list[str]:
    """Returns all items of the tenant and of the control plane that contain its id, with ids and times replaced."""
    pages = stack.engine_client().get_paginator("scan").paginate(TableName=stack.settings.table, ConsistentRead=True)
    id_pattern = re.compile(rf"\b{id}\b")
    items = [item for page in pages for item in page["Items"] if id_pattern.search(json.dumps(item))]
    lines = Snapshot(tuple(dict(item) for item in items)).normalized(Snapshot(()))
    untagged_lines = (line.replace(INDEX_TAGS.of(TenantId(id)), "tag") for line in lines)
    return sorted(
        re.sub(r'"[0-9a-f]{64}"|#[0-9a-f]{64}', "digest", id_pattern.sub("tenant", line)) for line in untagged_lines
    )


async def test_an_onboarding_makes_as_many_calls_as_the_tests_crash_at(stack: ServiceStack) -> None:
    stack.take_calls()
    await onboard(stack, stack.tables, "counted")
    assert len(stack.take_calls()) == LAST_CALL + 1


@pytest.mark.parametrize(("call_number", "moment"), CRASH_POINTS)
async def test_an_onboarding_that_crashes_at_a_call_is_finished_by_the_same_request(
    stack: ServiceStack, call_number: int, moment: Moment
) -> None:
    await onboard(stack, stack.tables, f"complete-{call_number}-{moment}")
    id = f"crashed-{call_number}-{moment}"
    with pytest.raises(Crash):
        await onboard(stack, replace(stack.tables, client=CrashingClient(stack.tables.client, call_number, moment)), id)
    result = await onboard(stack, stack.tables, id)
    assert result.created is ((call_number, moment) in NOTHING_STORED)
    assert stored_items(stack, id) == stored_items(stack, f"complete-{call_number}-{moment}")


@pytest.mark.parametrize(
    ("call_number", "moment"), tier.cases(KILL_POINTS, default=KILL_POINTS[:1], reason="kills processes")
)
@pytest.mark.one_engine
async def test_an_onboarding_whose_process_is_killed_is_finished_by_the_same_request(
    stack: ServiceStack, call_number: int, moment: Moment
) -> None:
    await onboard(stack, stack.tables, f"finished-{call_number}-{moment}")
    id = f"killed-{call_number}-{moment}"
    arguments = {
        "table": stack.settings.table,
        "gate": stack.gate.url,
        "key": stack.gate_key.hex(),
        "id": id,
        "jwks": PROVIDER.jwks(),
        "call_number": call_number,
        "moment": moment,
    }
    module = "tests.failures.onboarding_process"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, json.dumps(arguments))
    assert await process.wait() == -signal.SIGKILL
    await onboard(stack, stack.tables, id)
    assert stored_items(stack, id) == stored_items(stack, f"finished-{call_number}-{moment}")
