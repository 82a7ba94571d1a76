"""No key is outside its fence, for any values."""

from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store import keys
from keyfence.store.key_template import BadTemplate
from keyfence.store.keys import ControlKey, Fence, KeyPair, TenantKey
from keyfence.store.shards import UNSHARDED, Sharding
from keyfence_iam.tenant import TENANT_ID_PATTERN, TenantId, tenant_key_prefix
from tests.data.model_strategies import TEXT
from tests.fakes.fences import INDEX_TAGS, tenant_fence
from tests.fakes.shard_maps import even_shards

ACME = tenant_fence("acme")
TENANTS = st.from_regex(TENANT_ID_PATTERN, fullmatch=True).map(TenantId)
PREFIX_LENGTH = len("TENANT#acme#")


@st.composite
def two_tenants(draw: st.DrawFn) -> tuple[TenantId, TenantId]:
    """Draws the ids of two tenants. Often one id is a prefix of the other."""
    one = draw(TENANTS)
    longer_id = st.from_regex("[a-z0-9]{1,4}", fullmatch=True).map(lambda more: TenantId((one + more)[:32]))
    other = draw(TENANTS | longer_id)
    assume(one != other)
    return one, other


def render_key(key: TenantKey, **values: object) -> KeyPair:
    return key.render(ACME, UNSHARDED, values)


@given(two_tenants(), TEXT, TEXT)
@example((TenantId("a1"), TenantId("a10")), "x", "y")
@example((TenantId("acme"), TenantId("acmecorp")), "corp#", "#")
def test_no_key_of_one_tenant_begins_with_the_prefix_of_another(
    tenants: tuple[TenantId, TenantId], email: str, id: str
) -> None:
    table_key = TenantKey("EMAIL#{email}", "USER#{id}", sharding=Sharding("users", hashed_field="id"))
    for (own_tenant, other_tenant), key in product((tenants, tenants[::-1]), (table_key, table_key.for_index())):
        partition = key.render(tenant_fence(own_tenant), UNSHARDED, {"email": email, "id": id}).partition
        assert tenant_fence(own_tenant).contains(partition)
        assert not partition.startswith(tenant_key_prefix(other_tenant))
        assert not tenant_fence(other_tenant).contains(partition)
        assert not Fence.for_control_plane().contains(partition)


def test_an_index_key_has_the_tag_of_its_tenant_and_a_table_key_has_none() -> None:
    key = TenantKey("USERS", "{id}", sharding=Sharding("users", hashed_field="id"))
    tag = INDEX_TAGS.of(TenantId("acme"))
    assert render_key(key, id="u1").partition == "TENANT#acme#USERS#00"
    assert render_key(key.for_index(), id="u1").partition == f"TENANT#acme#{tag}#USERS#00"
    assert [*key.for_index().partitions(ACME, UNSHARDED, {})] == [f"TENANT#acme#{tag}#USERS#00"]
    assert str(key.for_index()) == "TENANT#<tenant>#<index tag>#USERS#<shard> / {id}"


def test_an_index_key_cannot_be_made_in_a_fence_without_a_tag() -> None:
    with pytest.raises(TypeError, match="index prefix"):
        TenantKey("USERS", "{id}").for_index().render(Fence.for_tenant(TenantId("acme")), UNSHARDED, {"id": "u1"})


def test_index_keys_of_the_control_plane_have_no_tag() -> None:
    key = ControlKey("TENANTS", "{id}").for_index()
    assert key.render(Fence.for_control_plane(), UNSHARDED, {"id": "acme"}).partition == "CONTROL#TENANTS"
    assert str(key) == "CONTROL#TENANTS / {id}"


@given(TENANTS, TEXT)
def test_no_control_key_is_inside_a_tenants_fence(tenant: TenantId, id: str) -> None:
    partition = ControlKey("TENANT#{id}", "METADATA").render(Fence.for_control_plane(), UNSHARDED, {"id": id}).partition
    assert Fence.for_control_plane().contains(partition)
    assert not Fence.for_tenant(tenant).contains(partition)


@pytest.mark.parametrize("tenant", ["", "A1", "a", "acme#", "acme#x", "acme\n", "-acme", "*", "a?c", "${x}", "CONTROL"])
def test_a_fence_needs_a_valid_tenant_id(tenant: str) -> None:
    with pytest.raises(ValueError, match="tenant id"):
        tenant_fence(tenant)


@pytest.mark.parametrize(
    "partition", ["{id}", "{id}#USER", "v{id}", "user#{id}", "User", "TENANT#{id}", "CONTROL#{id}"]
)
def test_a_partition_template_that_contains_or_avoids_the_prefix_is_refused(partition: str) -> None:
    with pytest.raises(BadTemplate):
        TenantKey(partition, "METADATA")


@pytest.mark.parametrize("partition", ["{id}", "tenant#{id}", "CONTROL#{id}", "CONTROL"])
def test_a_control_partition_template_that_contains_or_avoids_the_prefix_is_refused(partition: str) -> None:
    with pytest.raises(BadTemplate):
        ControlKey(partition, "METADATA")


@pytest.mark.parametrize("sort", ["", "#", "USER#", "{a}{b}", "USER#{a}-{b}"])
def test_an_ambiguous_sort_key_is_refused(sort: str) -> None:
    with pytest.raises(BadTemplate):
        TenantKey("USER#{id}", sort)


def test_a_key_that_is_neither_a_tenants_nor_the_control_planes_cannot_be_declared() -> None:
    with pytest.raises(TypeError):
        keys._Key("USER#{id}", "PROFILE")


def test_a_tenant_key_cannot_be_made_in_the_control_fence_nor_the_reverse() -> None:
    with pytest.raises(TypeError, match="tenant key"):
        TenantKey("USER#{id}", "PROFILE").render(Fence.for_control_plane(), UNSHARDED, {"id": "u1"})
    with pytest.raises(TypeError, match="control key"):
        ControlKey("TENANT#{id}", "METADATA").render(ACME, UNSHARDED, {"id": "acme"})
    with pytest.raises(TypeError, match="tenant key"):
        list(TenantKey("USER#{id}", "PROFILE").partitions(Fence.for_control_plane(), UNSHARDED, {"id": "u1"}))


@given(st.tuples(TEXT, TEXT, TEXT), st.tuples(TEXT, TEXT, TEXT))
def test_different_values_in_partition_and_sort_key_never_make_one_pair(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    key = TenantKey("A#{a}#{b}", "C#{c}", sharding=Sharding("things", hashed_field="c"))
    shards = even_shards({"things": 16})
    pairs = [key.render(ACME, shards, dict(zip("abc", values, strict=True))) for values in (one, other)]
    assert (pairs[0] == pairs[1]) == (one == other)


@given(TEXT, st.integers(1, 256))
def test_a_sharded_item_is_in_one_of_the_partitions_that_are_read(id: str, count: int) -> None:
    key = TenantKey("USERS", "{id}", sharding=Sharding("users", hashed_field="id"))
    shards = even_shards({"users": count})
    assert key.render(ACME, shards, {"id": id}).partition in set(key.partitions(ACME, shards, {}))


def test_a_partition_without_shards_is_read_as_it_is_written() -> None:
    key = TenantKey("USER#{id}", "PROFILE")
    assert list(key.partitions(ACME, UNSHARDED, {"id": "u#1"})) == ["TENANT#acme#USER#u%231"]
    assert render_key(key, id="u#1") == ("TENANT#acme#USER#u%231", "PROFILE")


@pytest.mark.parametrize(("character", "size"), [("a", 1), ("é", 2), ("🙂", 4), ("#", 3), ("\x00", 3)])
def test_a_sort_key_may_have_1024_bytes_when_escaped_and_no_more(character: str, size: int) -> None:
    key = TenantKey("CATEGORIES", "{path}")
    longest_text = character * (1024 // size) + "a" * (1024 % size)
    assert len(render_key(key, path=longest_text).sort.encode()) == 1024
    with pytest.raises(BadInput, match="path"):
        render_key(key, path=longest_text + "a")


@pytest.mark.parametrize(("character", "size"), [("a", 1), ("é", 2), ("🙂", 4), ("#", 3)])
def test_a_partition_key_with_prefix_and_shard_may_have_2048_bytes_and_no_more(character: str, size: int) -> None:
    key = TenantKey("SKU#{sku}", "{id}", sharding=Sharding("skus", hashed_field="id"))
    available_bytes = 2048 - PREFIX_LENGTH - len("SKU#") - len("#00")
    longest_text = character * (available_bytes // size) + "a" * (available_bytes % size)
    assert len(render_key(key, sku=longest_text, id="x").partition.encode()) == 2048
    with pytest.raises(BadInput, match="sku"):
        render_key(key, sku=longest_text + "a", id="x")
    with pytest.raises(BadInput, match="sku"):
        list(key.partitions(ACME, UNSHARDED, {"sku": longest_text + "a"}))


def test_a_lone_surrogate_in_a_key_is_refused() -> None:
    with pytest.raises(BadInput):
        render_key(TenantKey("EMAIL#{email}", "{id}"), email="\udc00@host", id="x")


def test_a_key_prints_its_templates_with_its_prefix_and_shard() -> None:
    assert (
        str(TenantKey("USERS", "{id}", sharding=Sharding("users", hashed_field="id")))
        == "TENANT#<tenant>#USERS#<shard> / {id}"
    )
    assert str(ControlKey("TENANT#{id}", "METADATA")) == "CONTROL#TENANT#{id} / METADATA"
