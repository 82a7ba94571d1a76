"""Registers stores."""

from keyfence.domain import Domain
from keyfence.domains.stores import access_patterns
from keyfence.domains.stores.graphql import Store, StoreMutations, StoreQueries, load_store

DOMAIN = Domain(
    name="stores",
    access_patterns=(access_patterns,),
    queries=(StoreQueries,),
    mutations=(StoreMutations,),
    types=(Store,),
    nodes={"sto": load_store},
)
