"""IAM does not check index keys. A session of another tenant cannot guess them. If it knows them, its items are counted
and never returned."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyfence.app.domain_loading import load_domains
from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.store.codec import Item
from keyfence.store.entity import Query, key_names
from keyfence.store.keys import Fence
from keyfence_iam.tenant import session_key_prefix, tenant_key_prefix
from tests import tier
from tests.fakes.fences import tenant_fence
from tests.isolation.catalogue_calls import example_key, example_values
from tests.isolation.poisoned_index import cost_of_users, poison_users
from tests.stack import ServiceStack

INDEX_QUERIES = {
    str(named): named.pattern
    for named in load_domains().patterns
    if isinstance(named.pattern, Query) and named.index != "table" and named.pattern.key.realm == "tenant"
}


def _poisoned_item(pattern: Query[Any], attacker: Fence, victim: Fence) -> Item:
    """Returns an item with the attacker's table key and the victim's index key."""
    return {
        **example_key(pattern.entity, "table", attacker),
        **example_key(pattern.entity, pattern.index, victim),
        "type": {"S": pattern.entity.type},
    }


async def test_items_with_a_guessed_index_key_do_not_change_the_cost_of_a_list(stack: ServiceStack) -> None:
    victim, attacker = await stack.new_tenant(), await stack.new_tenant()
    await UserRepository(stack.table(victim)).create(email="a@victim.example", name="A", role=Role.MEMBER)
    before = await cost_of_users(stack.table(victim, may_write=False))
    assert (before.users, before.calls) == (1, 1)
    poison_users(stack, attacker, tenant_key_prefix(victim), tier.size(default=300, full=3000))
    poison_users(stack, attacker, str(tenant_fence(victim).index_prefix)[:-2] + "#", 25)
    assert await cost_of_users(stack.table(victim, may_write=False)) == before


@pytest.mark.parametrize("name", INDEX_QUERIES)
async def test_an_item_that_a_hostile_session_writes_into_an_index_is_dropped_and_counted(
    stack: ServiceStack, name: str
) -> None:
    pattern, victim, attacker = INDEX_QUERIES[name], await stack.new_tenant(), await stack.new_tenant()
    poisoned_item = _poisoned_item(pattern, tenant_fence(attacker), tenant_fence(victim))
    stack.boto_client(attacker).put_item(TableName=stack.tables.name, Item=poisoned_item)
    counted: list[str] = []
    table = replace(
        stack.table(victim, may_write=False),
        on_foreign_items=lambda _, items: counted.extend(item["PK"]["S"] for item in items),
    )
    page = await table.page(pattern, first=10, after=None, between=None, **example_values(pattern.key))
    assert page.items == ()
    assert counted == [poisoned_item["PK"]["S"]]
    partition = key_names(pattern.index).partition
    answer = stack.boto_client(victim, read_only=True).query(
        TableName=stack.tables.name,
        IndexName=pattern.index.upper(),
        KeyConditionExpression="#p = :p",
        ExpressionAttributeNames={"#p": partition},
        ExpressionAttributeValues={":p": poisoned_item[partition]},
    )
    assert answer["Count"] == 1, "IAM does not hide the item from the victim's session, so the service did"


async def test_the_strict_gate_denies_an_index_key_outside_the_tenants_prefix(stack: ServiceStack) -> None:
    pattern, victim, attacker = next(iter(INDEX_QUERIES.values())), await stack.new_tenant(), await stack.new_tenant()
    client, table = stack.boto_client(attacker), stack.tables.name
    stack.gate.index_key_prefix_of = session_key_prefix
    try:
        client.put_item(TableName=table, Item=_poisoned_item(pattern, tenant_fence(attacker), tenant_fence(attacker)))
        with pytest.raises(ClientError, match="strict gate") as denial:
            client.put_item(TableName=table, Item=_poisoned_item(pattern, tenant_fence(attacker), tenant_fence(victim)))
        assert denial.value.response["Error"]["Code"] == "AccessDeniedException"
    finally:
        stack.gate.index_key_prefix_of = None
