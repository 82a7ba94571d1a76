"""Keys and access patterns of customers."""

from keyfence.domains.customers.model import Customer
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding

customers = entity(
    Customer,
    table=TenantKey("CUST#{id}", "PROFILE"),
    gsi2=TenantKey("CUSTOMERS", "{created_at}#{id}", sharding=Sharding("customers", hashed_field="id")),
    index_fields=("email",),
)

customer_by_id = customers.get()
newest_customers = customers.query("gsi2", newest_first=True)
