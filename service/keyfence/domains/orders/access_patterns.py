"""Keys and access patterns of orders.

Each order is stored twice: as `Order`, and as `OrderRow` in its customer's partition. A deleted order has no row."""

from keyfence.domains.orders.idempotency_key import IdempotencyKey
from keyfence.domains.orders.line_items import LineItem
from keyfence.domains.orders.model import CustomerRef, Order, OrderEvent, OrderRow, is_alive, is_open
from keyfence.store.entity import ItemCollection, entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding

orders = entity(
    Order,
    table=TenantKey("ORDER#{id}", "METADATA"),
    gsi2=TenantKey("REVIEW", "{flagged_at}#{id}", sharding=Sharding("review_queue", hashed_field="id"), when=is_alive),
    gsi3=TenantKey("BIN", "{deleted_at}#{id}", sharding=Sharding("recycle_bin", hashed_field="id")),
    index_fields=("flagged_at",),
)
order_rows = entity(
    OrderRow,
    table=TenantKey("CUST#{customer_id}", "ORDER#{created_at}#{id}"),
    gsi1=TenantKey("CUST#{customer_id}#{status}", "{created_at}#{id}"),
    gsi2=TenantKey("OPEN", "{created_at}#{id}", sharding=Sharding("open_orders", hashed_field="id"), when=is_open),
    gsi3=TenantKey(
        "REGION#{region}", "DATE#{created_at}#ORDER#{id}", sharding=Sharding("orders_by_region", hashed_field="id")
    ),
    index_fields=("flagged_at",),
)
order_items = entity(LineItem, table=TenantKey("ORDER#{order_id}", "ITEM#{position:03d}"))
order_events = entity(OrderEvent, table=TenantKey("ORDER#{order_id}", "EVENT#{revision:08d}"))
idempotency_keys = entity(IdempotencyKey, table=TenantKey("ORDERKEY#{key}", "CONSTRAINT"))
customer_refs = entity(CustomerRef, table=TenantKey("CUST#{id}", "PROFILE"))

order_by_id = orders.get()
review_queue = orders.query("gsi2")
deleted_orders = orders.query("gsi3", newest_first=True)
orders_of_customer = order_rows.query("table", begins_with="ORDER#", newest_first=True)
orders_of_customer_in_status = order_rows.query("gsi1", newest_first=True)
open_orders = order_rows.query("gsi2")
orders_of_region = order_rows.query("gsi3", begins_with="DATE#", range_field="created_at")
item_by_position = order_items.get()
items_of_order = order_items.query("table", begins_with="ITEM#", newest_first=True)
event_by_revision = order_events.get()
events_of_order = order_events.query("table", begins_with="EVENT#")
order_by_idempotency_key = idempotency_keys.get()

order_with_items = ItemCollection(orders, items_of_order)
