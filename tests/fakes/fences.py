"""The index key of all tests, and the fences of tenants that it gives."""

from keyfence.store.index_tags import IndexTags
from keyfence.store.keys import Fence
from keyfence_iam.tenant import parse_tenant_id

INDEX_KEY = "dev-" + "A" * 43
"""The setting KEYFENCE_INDEX_KEY of the services that tests start."""
INDEX_TAGS = IndexTags(bytes(32))
"""The tags of the same key."""


def tenant_fence(tenant: str) -> Fence:
    id = parse_tenant_id(tenant)
    return Fence.for_tenant(id, INDEX_TAGS.of(id))
