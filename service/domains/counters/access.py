"""Where counters are kept and the way they are reached."""

from service.domains.counters.model import Counter
from service.store.entity import entity
from service.store.keys import TenantKey
from service.store.shards import Shard

counters = entity(
    Counter, table=TenantKey("COUNTER#{name}", "METADATA", shard=Shard("counters", by="part", folds="total"))
)

counter_by_name = counters.get()
