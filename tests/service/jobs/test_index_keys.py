"""The index keys of an item are right if they are the declared ones, in any shard that servers read."""

from dataclasses import replace

import pytest

from keyfence.domains.users.access_patterns import users
from keyfence.jobs.rekey.index_keys import UnreadableItem, differing_index_keys
from keyfence.store.shards import UNSHARDED
from tests.fakes.fences import tenant_fence
from tests.fakes.shard_maps import even_shards
from tests.system.jobs.rekey_run import user

FENCE = tenant_fence("acme")
EIGHT = even_shards({"users": 8})


def test_a_new_item_has_no_wrong_keys() -> None:
    assert differing_index_keys(users, users.to_item(user(1), FENCE, EIGHT), FENCE, EIGHT) == {}


@pytest.mark.parametrize("shard", range(8))
def test_an_item_keeps_its_shard_unless_servers_do_not_read_that_shard(shard: int) -> None:
    item = users.to_item(user(1), FENCE, UNSHARDED)
    item["GSI2PK"] = {"S": f"{FENCE.index_prefix}USERS#{shard:02x}"}
    assert differing_index_keys(users, item, FENCE, EIGHT) == {}
    wrong = {} if shard == 0 else {"GSI2PK": f"{FENCE.index_prefix}USERS#00"}
    assert differing_index_keys(users, item, FENCE, UNSHARDED) == wrong


def test_a_wrong_partition_is_replaced_by_the_partition_of_a_new_item() -> None:
    item = users.to_item(user(1), FENCE, EIGHT)
    expected = item["GSI2PK"]["S"]
    item["GSI2PK"] = {"S": "TENANT#acme#PEOPLE#07"}
    assert differing_index_keys(users, item, FENCE, EIGHT) == {"GSI2PK": expected}


def test_a_deleted_user_should_have_no_index_keys() -> None:
    item = users.to_item(user(1), FENCE, UNSHARDED)
    gone = users.to_item(replace(user(1), deleted_at=user(1).created_at), FENCE, UNSHARDED)
    assert differing_index_keys(users, {**item, **gone}, FENCE, UNSHARDED) == dict.fromkeys(
        ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")
    )


@pytest.mark.parametrize("name", ["email", "version", "createdAt", "role"])
def test_an_item_without_a_required_attribute_raises_unreadable_item(name: str) -> None:
    item = {key: value for key, value in users.to_item(user(1), FENCE, UNSHARDED).items() if key != name}
    with pytest.raises(UnreadableItem):
        differing_index_keys(users, item, FENCE, UNSHARDED)
