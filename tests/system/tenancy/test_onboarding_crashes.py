"""An onboarding that dies anywhere is finished by the same request, and leaves what it would have left at once."""

import asyncio
import json
import re
import signal
import sys
from dataclasses import replace

import pytest

from keyfence.admin.onboarding import OnboardingResult
from keyfence.store.table_handles import Tables
from tests import tier
from tests.failures.crashing_client import Crash, CrashingClient, Moment
from tests.failures.onboarding_process import application, onboarding
from tests.failures.tenant_snapshot import Snapshot
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.stack import ServiceStack

CALLS = 5
"""Is the id there, the claim, is the owner there, the owner, the tenant as it is now, the activation: 0 to 5."""
KEYS = TenantIdentityProvider(issuer="unused")
PLACES: list[tuple[int, Moment]] = [(at, moment) for at in range(CALLS + 1) for moment in ("before", "after")]
UNCLAIMED = {(0, "before"), (0, "after"), (1, "before")}
KILLED: list[tuple[int, Moment]] = [(1, "after"), (3, "before"), (3, "after")]


async def onboarded(stack: ServiceStack, tables: Tables, id: str) -> OnboardingResult:
    return await onboarding(tables, stack.connections)(application(id, KEYS.jwks()))


def left(stack: ServiceStack, id: str) -> list[str]:
    """All that the engine has of this tenant, in the control plane and in its own partitions, by neutral names."""
    pages = stack.engine_client().get_paginator("scan").paginate(TableName=stack.settings.table, ConsistentRead=True)
    own = re.compile(rf"\b{id}\b")
    items = [item for page in pages for item in page["Items"] if own.search(json.dumps(item))]
    lines = Snapshot(tuple(dict(item) for item in items)).normalized(Snapshot(()))
    return sorted(re.sub(r'"[0-9a-f]{64}"|#[0-9a-f]{64}', "digest", own.sub("it", line)) for line in lines)


async def test_an_onboarding_makes_as_many_calls_as_are_struck_below(stack: ServiceStack) -> None:
    stack.take_calls()
    await onboarded(stack, stack.tables, "counted")
    assert len(stack.take_calls()) == CALLS + 1


@pytest.mark.parametrize(("at", "moment"), PLACES)
async def test_whoever_dies_at_a_call_is_followed_by_one_who_finishes(
    stack: ServiceStack, at: int, moment: Moment
) -> None:
    await onboarded(stack, stack.tables, f"whole-{at}-{moment}")
    id = f"torn-{at}-{moment}"
    with pytest.raises(Crash):
        await onboarded(stack, replace(stack.tables, client=CrashingClient(stack.tables.client, at, moment)), id)
    again = await onboarded(stack, stack.tables, id)
    assert again.created is ((at, moment) in UNCLAIMED)
    assert left(stack, id) == left(stack, f"whole-{at}-{moment}")


@pytest.mark.parametrize(("at", "moment"), tier.cases(KILLED, default=KILLED[:1], reason="kills processes"))
@pytest.mark.one_engine
async def test_a_process_that_is_killed_is_followed_by_one_that_finishes(
    stack: ServiceStack, at: int, moment: Moment
) -> None:
    await onboarded(stack, stack.tables, f"well-{at}-{moment}")
    id = f"killed-{at}-{moment}"
    given = {
        "table": stack.settings.table,
        "gate": stack.gate.url,
        "key": stack.gate_key.hex(),
        "id": id,
        "jwks": KEYS.jwks(),
        "at": at,
        "moment": moment,
    }
    module = "tests.failures.onboarding_process"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, json.dumps(given))
    assert await process.wait() == -signal.SIGKILL
    await onboarded(stack, stack.tables, id)
    assert left(stack, id) == left(stack, f"well-{at}-{moment}")
