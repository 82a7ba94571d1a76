"""Registers invoices."""

from keyfence.domain import Domain
from tests.system.domains.invoices import access_patterns
from tests.system.domains.invoices.bulk import RECORD_KIND
from tests.system.domains.invoices.graphql import Invoice, InvoiceMutations, InvoiceQueries, load_invoice

DOMAIN = Domain(
    name="invoices",
    access_patterns=(access_patterns,),
    queries=(InvoiceQueries,),
    mutations=(InvoiceMutations,),
    types=(Invoice,),
    nodes={"inv": load_invoice},
    record_kind=RECORD_KIND,
)
