"""Parents with children of another domain, which can be read together since they share a partition."""

from keyfence.domains.customers import access as customers
from keyfence.domains.orders import access as orders
from keyfence.store.family import Family

customer_with_orders = Family(customers.customers, orders.orders_of_customer)
