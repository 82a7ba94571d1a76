"""Registers categories."""

from keyfence.domain import Domain
from keyfence.domains.categories import access_patterns
from keyfence.domains.categories.bulk import RECORD_KIND
from keyfence.domains.categories.graphql import CategoryMutations, CategoryQueries

DOMAIN = Domain(
    name="categories",
    access_patterns=(access_patterns,),
    queries=(CategoryQueries,),
    mutations=(CategoryMutations,),
    record_kind=RECORD_KIND,
    depends_on=("products",),
)
