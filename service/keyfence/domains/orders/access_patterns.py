"""Where orders are kept, each as a head and as its customer's row, and the ways they are reached."""

from keyfence.domains.orders.idempotency import IdempotencyKey
from keyfence.domains.orders.line_items import LineItem
from keyfence.domains.orders.model import CustomerRef, Order, OrderEvent, OrderRow, is_alive, is_open
from keyfence.store.entity import ItemCollection, entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Shard

orders = entity(
    Order,
    table=TenantKey("ORDER#{id}", "METADATA"),
    gsi2=TenantKey("REVIEW", "{flagged_at}#{id}", shard=Shard("review_queue", by="id"), when=is_alive),
    gsi3=TenantKey("BIN", "{deleted_at}#{id}", shard=Shard("recycle_bin", by="id")),
    index_fields=("flagged_at",),
)
rows = entity(
    OrderRow,
    table=TenantKey("CUST#{customer_id}", "ORDER#{created_at}#{id}"),
    gsi1=TenantKey("CUST#{customer_id}#{status}", "{created_at}#{id}"),
    gsi2=TenantKey("OPEN", "{created_at}#{id}", shard=Shard("open_orders", by="id"), when=is_open),
    gsi3=TenantKey("REGION#{region}", "DATE#{created_at}#ORDER#{id}", shard=Shard("orders_by_region", by="id")),
    index_fields=("flagged_at",),
)
items = entity(LineItem, table=TenantKey("ORDER#{order_id}", "ITEM#{position:03d}"))
events = entity(OrderEvent, table=TenantKey("ORDER#{order_id}", "EVENT#{revision:08d}"))
order_keys = entity(IdempotencyKey, table=TenantKey("ORDERKEY#{key}", "CONSTRAINT"))
buyers = entity(CustomerRef, table=TenantKey("CUST#{id}", "PROFILE"))

order_by_id = orders.get()
review_queue = orders.query("gsi2")
deleted_orders = orders.query("gsi3", newest_first=True)
orders_of_customer = rows.query("table", begins_with="ORDER#", newest_first=True)
orders_of_customer_in_status = rows.query("gsi1", newest_first=True)
open_orders = rows.query("gsi2")
orders_of_region = rows.query("gsi3", begins_with="DATE#", range_field="created_at")
item_by_position = items.get()
items_of_order = items.query("table", begins_with="ITEM#", newest_first=True)
event_by_revision = events.get()
events_of_order = events.query("table", begins_with="EVENT#")
order_by_key = order_keys.get()

order_with_items = ItemCollection(orders, items_of_order)
