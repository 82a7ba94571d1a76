"""An item that a hostile tenant wrote into another tenant's index partition is never returned."""

import httpx2
import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.access_patterns import users
from keyfence.domains.users.model import User
from keyfence.domains.users.repository import UserRepository
from keyfence.store.shards import UNSHARDED
from keyfence_iam.tenant import parse_tenant_id
from tests.fakes.fences import tenant_fence
from tests.stack import ServiceStack


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


async def _create_user(stack: ServiceStack, tenant: str, email: str) -> User:
    return await UserRepository(stack.table(parse_tenant_id(tenant))).create(email=email, name="N", role=Role.MEMBER)


async def _poison(stack: ServiceStack, user: User, attacker: str, victim: str) -> None:
    """Writes an item with the attacker's table key and the victim's index keys, as stolen credentials could."""
    item = users.to_item(user, tenant_fence(attacker), UNSHARDED)
    index = users.key_attributes(user, tenant_fence(victim), UNSHARDED)
    poisoned = {**item, **{name: value for name, value in index.items() if name.startswith("GSI")}}
    await stack.table(parse_tenant_id(attacker)).caller.call(
        "PutItem", {"TableName": stack.tables.name, "Item": poisoned}
    )


async def _foreign_item_count(stack: ServiceStack) -> int:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(stack.application), base_url="http://x") as http:
        text = (await http.get("/metrics")).text
    (line,) = [line for line in text.splitlines() if line.startswith("keyfence_foreign_items_total ")]
    return int(line.split()[1])
