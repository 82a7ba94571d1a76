"""Registers customers."""

from keyfence.domain import Domain
from keyfence.domains.customers import access_patterns, graphql
from keyfence.domains.customers.bulk import RECORD_KIND
from keyfence.domains.customers.graphql import Customer, CustomerMutations, CustomerQueries, load_customer

DOMAIN = Domain(
    name="customers",
    access_patterns=(access_patterns, graphql),
    queries=(CustomerQueries,),
    mutations=(CustomerMutations,),
    types=(Customer,),
    nodes={"cus": load_customer},
    record_kind=RECORD_KIND,
    depends_on=("orders",),
)
