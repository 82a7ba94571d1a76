"""IAM does not check index keys: an item with a neighbour's prefix in one is never returned to it, and is counted."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyfence.app.domain_loading import load_domains
from keyfence.store.codec import Item
from keyfence.store.entity import Query, key_names
from keyfence.store.keys import Fence
from keyfence_iam.tenant import session_key_prefix
from tests.isolation.catalogue_calls import example_key, example_values
from tests.stack import ServiceStack

INDEXED = {
    str(named): named.pattern
    for named in load_domains().patterns
    if isinstance(named.pattern, Query) and named.index != "table" and named.pattern.key.realm == "tenant"
}


def _planted(pattern: Query[Any], attacker: Fence, victim: Fence) -> Item:
    """Returns an item with the attacker's table key and the victim's index key."""
    return {
        **example_key(pattern.entity, "table", attacker),
        **example_key(pattern.entity, pattern.index, victim),
        "type": {"S": pattern.entity.type},
    }


@pytest.mark.parametrize("name", INDEXED)
async def test_an_item_that_a_hostile_session_writes_into_an_index_is_dropped_and_counted(
    stack: ServiceStack, name: str
) -> None:
    pattern, victim, attacker = INDEXED[name], await stack.new_tenant(), await stack.new_tenant()
    planted = _planted(pattern, Fence.for_tenant(attacker), Fence.for_tenant(victim))
    stack.boto_client(attacker).put_item(TableName=stack.tables.name, Item=planted)
    seen: list[str] = []
    table = replace(stack.table(victim, writes=False), on_foreign_item=lambda: seen.append("foreign"))
    page = await table.page(pattern, first=10, after=None, between=None, **example_values(pattern.key))
    assert page.items == ()
    assert seen == ["foreign"]
    partition = key_names(pattern.index).partition
    shown = stack.boto_client(victim, read_only=True).query(
        TableName=stack.tables.name,
        IndexName=pattern.index.upper(),
        KeyConditionExpression="#p = :p",
        ExpressionAttributeNames={"#p": partition},
        ExpressionAttributeValues={":p": planted[partition]},
    )
    assert shown["Count"] == 1, "IAM lets the victim's session see it, so that the code above is what kept it away"


async def test_the_strict_gate_denies_what_iam_cannot(stack: ServiceStack) -> None:
    pattern, victim, attacker = next(iter(INDEXED.values())), await stack.new_tenant(), await stack.new_tenant()
    client, table = stack.boto_client(attacker), stack.tables.name
    stack.gate.index_key_prefix = session_key_prefix
    try:
        client.put_item(TableName=table, Item=_planted(pattern, Fence.for_tenant(attacker), Fence.for_tenant(attacker)))
        with pytest.raises(ClientError, match="strict gate") as denial:
            client.put_item(
                TableName=table, Item=_planted(pattern, Fence.for_tenant(attacker), Fence.for_tenant(victim))
            )
        assert denial.value.response["Error"]["Code"] == "AccessDeniedException"
    finally:
        stack.gate.index_key_prefix = None
