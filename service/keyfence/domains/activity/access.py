"""Where the journal is kept, a partition for each month, and the ways it is reached."""

from keyfence.domains.activity.model import Activity
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Shard

activities = entity(
    Activity,
    table=TenantKey("ACTIVITY#{created_at:month}", "{created_at}#{id}", shard=Shard("activity", by="id")),
    gsi1=TenantKey("USERACT#{by}#{created_at:month}", "{created_at}#{id}"),
)

latest_activity = activities.query("table", newest_first=True, ranged="created_at")
activity_of_user = activities.query("gsi1", newest_first=True, ranged="created_at")
