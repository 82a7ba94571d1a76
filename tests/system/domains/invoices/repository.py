"""`InvoiceRepository`: reads and writes the invoices of one tenant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial

from keyfence.errors import NotFound
from keyfence.store.expressions import absent
from keyfence.store.ids import new_id
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.timestamps import utc_now
from keyfence.store.writes import ActivityNote, put, require_version, retry_if_stale, update_model
from tests.system.domains.invoices.access_patterns import invoice_by_id, invoices, invoices_of_debtor, newest_invoices
from tests.system.domains.invoices.model import Invoice, InvoiceId, checked_amount, checked_number

INVOICE_NOT_FOUND = partial(NotFound, "no such invoice")


@dataclass(frozen=True, slots=True)
class InvoiceRepository:
    """The invoices of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = utc_now

    async def find_many(self, ids: Sequence[InvoiceId]) -> list[Invoice | None]:
        return await self.table.find_many(invoice_by_id, [{"id": id} for id in ids])

    async def newest(self, *, first: int, after: str | None) -> Page[Invoice]:
        return await self.table.page(newest_invoices, first=first, after=after)

    async def of_debtor(self, debtor: str, *, first: int, after: str | None) -> Page[Invoice]:
        return await self.table.page(invoices_of_debtor, first=first, after=after, debtor=debtor)

    async def create(self, *, number: str, debtor: str, amount_due: Decimal) -> Invoice:
        now = self.now()
        invoice = Invoice(
            id=InvoiceId(new_id("inv")),
            number=checked_number(number),
            debtor=debtor,
            amount_due=checked_amount(amount_due),
            created_at=now,
            updated_at=now,
        )
        note = ActivityNote("invoice.created", invoice.id, {"after": {"number": number}})
        await self.table.write(put(invoices, invoice, when=absent()), note=note)
        return invoice

    async def pay(self, id: InvoiceId, *, expected_version: int | None = None) -> Invoice:
        return await retry_if_stale(lambda: self._pay(id, expected_version))

    async def _pay(self, id: InvoiceId, expected_version: int | None) -> Invoice:
        if (before := await self.table.find(invoice_by_id, id=id)) is None:
            raise INVOICE_NOT_FOUND()
        require_version(before, expected_version, "invoice")
        now = self.now()
        after = replace(before, paid_at=now, updated_at=now, version=before.version + 1)
        await self.table.write(update_model(invoices, before, after), note=ActivityNote("invoice.paid", id))
        return after
