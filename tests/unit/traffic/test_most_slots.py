"""Nobody is advised to have more slots than a collection can have."""

import pytest

from keyfence.hot_partitions.recommendation import ShardNeed
from keyfence.jobs.reshard.start import checked_shards
from keyfence_iam.tenant import TenantId


@pytest.mark.parametrize(("collection", "most"), [("counters", 100), ("activity", 256)])
def test_advice_ends_where_a_reshard_would_be_refused(collection: str, most: int) -> None:
    need = ShardNeed(tenant=TenantId("acme"), collection=collection, read=0.0, write=10_000_000.0, units_per_read=0.5)
    assert (need.recommended(1), need.least(1)) == (most, most)
    assert checked_shards(collection, need.recommended(1)) == most
