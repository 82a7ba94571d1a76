"""Registers orders."""

from keyfence.domain import Domain
from keyfence.domains.orders import access_patterns
from keyfence.domains.orders.bulk import RECORD_KIND
from keyfence.domains.orders.graphql import Order, OrderQueries, load_order
from keyfence.domains.orders.mutations import OrderMutations

DOMAIN = Domain(
    name="orders",
    access_patterns=(access_patterns,),
    queries=(OrderQueries,),
    mutations=(OrderMutations,),
    types=(Order,),
    nodes={"ord": load_order},
    record_kind=RECORD_KIND,
    depends_on=("customers", "products", "sales"),
)
