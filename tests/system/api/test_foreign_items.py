"""Items that a hostile tenant wrote into another tenant's index partition are never returned, and cost little."""

from dataclasses import replace

import httpx2
import pytest
from structlog.testing import capture_logs

from keyfence.auth.principal import Role
from keyfence.domains.users.access_patterns import users
from keyfence.domains.users.model import User
from keyfence.domains.users.repository import UserRepository
from keyfence.store.shards import UNSHARDED
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.fakes.fences import tenant_fence
from tests.isolation.poisoned_index import poison_users
from tests.stack import UNLIMITED_QUOTAS, ServiceStack

USERS = "{ users(first: 20) { edges { node { email } } } }"
FOREIGN_ITEMS = tier.size(default=300, full=3000)


@pytest.mark.parametrize("first", [1, 20])
async def test_a_foreign_item_is_dropped_and_counted_and_does_not_shorten_the_page(
    stack: ServiceStack, first: int
) -> None:
    victim, attacker = await stack.new_tenant(), await stack.new_tenant()
    own = [await _create_user(stack, victim, f"{n}@victim.example") for n in range(2)]
    foreign_user = await _create_user(stack, attacker, "trap@attacker.example")
    await _poison(stack, foreign_user, attacker, victim)
    before = await _foreign_item_count(stack)
    data = await stack.api_client(victim).data(f"{{ users(first: {first}) {{ edges {{ node {{ email }} }} }} }}")
    emails = [edge["node"]["email"] for edge in data["users"]["edges"]]
    assert emails == [user.email for user in reversed(own)][:first]
    assert await _foreign_item_count(stack) == before + 1


async def test_a_list_with_very_many_foreign_items_fails_after_three_calls_and_names_their_owner_once(
    stack: ServiceStack,
) -> None:
    victim, attacker = await stack.new_tenant(), await stack.new_tenant()
    poison_users(stack, attacker, str(tenant_fence(victim).index_prefix), FOREIGN_ITEMS)
    client = stack.api_client(victim)
    with capture_logs() as lines:
        for _ in range(3):
            stack.take_calls()
            assert await client.error_code(USERS) == "INTERNAL"
            assert stack.take_operations().count("Query") == 3
    named = [line for line in lines if line["event"] == "foreign_item_in_index"]
    assert [(line["tenant"], line["owner"]) for line in named] == [(victim, attacker)]
    assert "keyfence rekey" in str(next(line for line in lines if line["event"] == "internal_error")["exc_info"])


async def test_foreign_items_are_not_charged_to_the_tenant_that_reads_them(stack: ServiceStack) -> None:
    victim, attacker = await stack.new_tenant(), await stack.new_tenant()
    await _set_read_quota(stack, victim, 10)
    poison_users(stack, attacker, str(tenant_fence(victim).index_prefix), FOREIGN_ITEMS)
    client = stack.api_client(victim)
    codes = [await client.error_code(USERS) for _ in range(6)]
    assert codes == ["INTERNAL"] * 6, "and not THROTTLED: only the check of the token is charged"


async def _set_read_quota(stack: ServiceStack, tenant: TenantId, read_units_per_second: int) -> None:
    tenants = TenantRepository(stack.tables.for_control_plane(may_write=True), "the-tests")
    quotas = replace(UNLIMITED_QUOTAS, read_units_per_second=read_units_per_second)
    await tenants.change(
        tenant, TenantEventKind.QUOTAS_CHANGED, lambda before: replace(before, overrides=quotas), detail={}
    )


async def _create_user(stack: ServiceStack, tenant: TenantId, email: str) -> User:
    return await UserRepository(stack.table(tenant)).create(email=email, name="N", role=Role.MEMBER)


async def _poison(stack: ServiceStack, user: User, attacker: TenantId, victim: TenantId) -> None:
    """Writes an item with the attacker's table key and the victim's index keys, as somebody with the attacker's
    credentials and the victim's tag could."""
    item = users.to_item(user, tenant_fence(attacker), UNSHARDED)
    index = users.key_attributes(user, tenant_fence(victim), UNSHARDED)
    poisoned = {**item, **{name: value for name, value in index.items() if name.startswith("GSI")}}
    await stack.table(attacker).caller.call("PutItem", {"TableName": stack.tables.name, "Item": poisoned})


async def _foreign_item_count(stack: ServiceStack) -> int:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(stack.application), base_url="http://x") as http:
        text = (await http.get("/metrics")).text
    (line,) = [line for line in text.splitlines() if line.startswith("keyfence_foreign_items_total ")]
    return int(line.split()[1])
