"""Random documents of one tenant neither show nor change anything of its neighbour, and cause no internal error."""

import pytest

from keyfence.admission import rate_limits
from keyfence.app.domain_loading import load_domains
from keyfence.auth.principal import Role
from tests import tier
from tests.failures.tenant_snapshot import TenantItems
from tests.isolation.fuzz.canary_tenant import create_canary_tenant, read_everything
from tests.isolation.fuzz.document_fuzzer import DocumentFuzzer
from tests.random_run import RandomRun
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine

SCHEMA = load_domains().schema._schema
DOCUMENTS = tier.size(default=100, full=1_200)


@pytest.fixture(autouse=True)
def unlimited_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a tenant send as many new documents as it can. No quota of a tenant changes this limit."""
    monkeypatch.setattr(rate_limits, "NEW_DOCUMENTS_BURST", 1_000_000.0)


@pytest.mark.parametrize("operation", ["query", "mutation"])
async def test_random_documents_neither_show_nor_change_a_neighbour(stack: ServiceStack, operation: str) -> None:
    run = RandomRun.from_environment("FUZZ", DOCUMENTS)
    caller = await create_canary_tenant(stack, f"acme{operation[0]}", "c")
    neighbour = await create_canary_tenant(stack, f"acme{operation[0]}1", "n")
    neighbours_items = TenantItems.of(stack, neighbour.client.tenant)
    before = neighbours_items.snapshot()
    stack.gate.denials.clear()
    others = [stack.api_client(caller.client.tenant, role) for role in Role]
    fuzzer = DocumentFuzzer(
        stack=stack,
        schema=SCHEMA,
        run=run,
        clients=[caller.client] * 3 * len(others) + others,
        own=caller.values,
        neighbour=neighbour,
    )
    await fuzzer.run_cases(operation)
    assert fuzzer.problems == []
    assert list(stack.gate.denials) == [], "the service tried a key outside the fence of the caller"
    assert neighbours_items.snapshot() == before
    assert fuzzer.outcomes["data"] > run.examples / 25, fuzzer.outcomes
    assert operation == "mutation" or fuzzer.shown_to_owner > run.examples / 40


async def test_the_owner_of_the_canaries_sees_them(stack: ServiceStack) -> None:
    """Proves that the canaries are in the items, so that the test above can fail."""
    owner = await create_canary_tenant(stack, "acme", "n")
    assert set(owner.found_in(await read_everything(owner))) == set(owner.secrets)
