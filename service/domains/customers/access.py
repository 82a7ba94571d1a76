"""Where customers are kept and the ways they are reached."""

from service.domains.customers.model import Customer
from service.store.entity import entity
from service.store.keys import TenantKey
from service.store.shards import Shard

customers = entity(
    Customer,
    table=TenantKey("CUST#{id}", "PROFILE"),
    gsi2=TenantKey("CUSTOMERS", "{created_at}#{id}", shard=Shard("customers", by="id")),
)

customer_by_id = customers.get()
newest_customers = customers.query("gsi2", newest_first=True)
