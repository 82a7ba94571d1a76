"""Registers products."""

from keyfence.domain import Domain
from keyfence.domains.products import access_patterns
from keyfence.domains.products.bulk import RECORD_KIND
from keyfence.domains.products.graphql import Product, ProductMutations, ProductQueries, load_product

DOMAIN = Domain(
    name="products",
    access_patterns=(access_patterns,),
    queries=(ProductQueries,),
    mutations=(ProductMutations,),
    types=(Product,),
    nodes={"prd": load_product},
    record_kind=RECORD_KIND,
    depends_on=("categories", "counters"),
)
