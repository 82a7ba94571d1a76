"""Keys and access patterns of invoices."""

from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding
from tests.system.domains.invoices.model import Invoice

invoices = entity(
    Invoice,
    table=TenantKey("INVOICE#{id}", "METADATA"),
    gsi1=TenantKey("DEBTOR#{debtor}", "{created_at}#{id}"),
    gsi2=TenantKey("INVOICES", "{created_at}#{id}", sharding=Sharding("invoices", hashed_field="id", max_shards=16)),
    index_fields=("paid_at",),
)

invoice_by_id = invoices.get()
invoices_of_debtor = invoices.query("gsi1", newest_first=True)
newest_invoices = invoices.query("gsi2", newest_first=True)
