"""Where monthly sales are kept and the ways they are reached."""

from keyfence.domains.sales.model import MonthlySales, is_sold
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Shard

monthly_sales = entity(
    MonthlySales,
    table=TenantKey("PRODUCT#{id}", "AGG#{created_at:month}"),
    gsi3=TenantKey("TOP#{created_at:month}", "{total:010d}#{id}", shard=Shard("top_products", by="id"), when=is_sold),
)

sales_of_month = monthly_sales.get()
top_products = monthly_sales.query("gsi3", newest_first=True)
