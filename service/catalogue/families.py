"""Parents with children of another domain, which can be read together since they share a partition."""

from service.domains.customers import access as customers
from service.domains.orders import access as orders
from service.store.family import Family

customer_with_orders = Family(customers.customers, orders.orders_of_customer)
