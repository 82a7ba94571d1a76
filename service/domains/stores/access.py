"""Where stores are kept and the ways they are reached."""

from service.domains.stores.model import Store
from service.store.entity import entity
from service.store.keys import TenantKey
from service.store.shards import Shard

stores = entity(
    Store,
    table=TenantKey("STORE#{id}", "METADATA"),
    gsi3=TenantKey("GEO", "{geohash}#{id}", shard=Shard("stores", by="id")),
)

store_by_id = stores.get()
stores_by_place = stores.query("gsi3", ranged="geohash")
