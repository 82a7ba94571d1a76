"""How many slots a tenant's collections have."""

from collections.abc import Mapping

from keyfence.store.shards import ONE, ShardCounts

COLLECTIONS = (
    "users",
    "groups",
    "group_members",
    "customers",
    "open_orders",
    "orders_by_region",
    "review_queue",
    "recycle_bin",
    "product_items",
    "products_in_category",
    "top_products",
    "stores",
    "activity",
    "counters",
)
"""The sharded collections, by the names that operators use."""


def every_collection(counts: Mapping[str, ShardCounts]) -> dict[str, ShardCounts]:
    """Where nothing is said of a collection, it has one slot."""
    return {name: counts.get(name, ONE) for name in COLLECTIONS}
