"""The tag of a tenant's index keys can only be computed with the index key of the deployment."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.index_tags import TAG_LENGTH, IndexTags
from keyfence_iam.tenant import TENANT_ID_PATTERN, TenantId

KEYS = st.binary(min_size=32, max_size=32)
TENANTS = st.from_regex(TENANT_ID_PATTERN, fullmatch=True).map(TenantId)


@given(KEYS, TENANTS)
def test_a_tag_is_the_same_every_time_and_cannot_end_its_segment(key: bytes, tenant: TenantId) -> None:
    tag = IndexTags(key).of(tenant)
    assert tag == IndexTags(key).of(tenant)
    assert re.fullmatch(rf"[a-z2-7]{{{TAG_LENGTH}}}", tag)


def test_each_tenant_has_its_own_tag() -> None:
    tags = IndexTags(bytes(32))
    assert len({tags.of(TenantId(f"tenant-{number}")) for number in range(10_000)}) == 10_000


@given(KEYS, KEYS, TENANTS)
def test_another_index_key_gives_another_tag(key: bytes, other_key: bytes, tenant: TenantId) -> None:
    assert (IndexTags(key).of(tenant) == IndexTags(other_key).of(tenant)) == (key == other_key)


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_an_index_key_has_32_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        IndexTags(bytes(size))


def test_the_index_key_is_not_shown() -> None:
    assert str(bytes(32)) not in repr(IndexTags(bytes(32)))
