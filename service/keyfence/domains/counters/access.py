"""Where counters are kept and the way they are reached."""

from keyfence.domains.counters.model import Counter
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Shard

counters = entity(
    Counter, table=TenantKey("COUNTER#{name}", "METADATA", shard=Shard("counters", by="part", folds="total"))
)

counter_by_name = counters.get()
