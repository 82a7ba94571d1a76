"""Keys and access patterns of stores."""

from keyfence.domains.stores.model import Store
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding

stores = entity(
    Store,
    table=TenantKey("STORE#{id}", "METADATA"),
    gsi3=TenantKey("GEO", "{geohash}#{id}", sharding=Sharding("stores", hashed_field="id")),
)

store_by_id = stores.get()
stores_by_geohash = stores.query("gsi3", range_field="geohash")
