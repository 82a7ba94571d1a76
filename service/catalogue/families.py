"""Parents with children of another domain, which can be read together since they share a partition."""

from service.domains.customers.access import customers
from service.domains.orders.access import orders_of_customer
from service.store.family import Family

customer_with_orders = Family(customers, orders_of_customer)
