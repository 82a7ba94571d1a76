"""Import and export of invoices."""

from collections.abc import AsyncIterator, Sequence

from keyfence.bulk.json_lines import Line, new_line
from keyfence.bulk.record_fields import Fields, parse_amount, parse_positive_integer, parse_text, parse_timestamp
from keyfence.bulk.record_kind import RecordKind, RecordWriter, put_new
from keyfence.store.codec import amount_text
from keyfence.store.table import Table
from keyfence.store.timestamps import timestamp_text
from keyfence.store.writes import ActivityNote
from tests.system.domains.invoices.access_patterns import invoices, newest_invoices
from tests.system.domains.invoices.model import Invoice, InvoiceId, checked_amount, checked_invoice_id, checked_number
from tests.system.domains.invoices.repository import InvoiceRepository


def from_fields(fields: Fields) -> Invoice:
    fields.allow_only("type", "id", "number", "debtor", "amountDue", "createdAt", "updatedAt", "paidAt", "version")
    created_at = fields.required("createdAt", parse_timestamp)
    return Invoice(
        id=fields.required("id", lambda value: checked_invoice_id(parse_text(value))),
        number=fields.required("number", lambda value: checked_number(parse_text(value))),
        debtor=fields.required("debtor", parse_text),
        amount_due=fields.required("amountDue", lambda value: checked_amount(parse_amount(value))),
        created_at=created_at,
        updated_at=fields.optional("updatedAt", parse_timestamp, created_at),
        paid_at=fields.optional("paidAt", parse_timestamp, None),
        version=fields.optional("version", parse_positive_integer, 1),
    )


def to_line(invoice: Invoice) -> Line:
    return new_line(
        "invoice",
        id=invoice.id,
        number=invoice.number,
        debtor=invoice.debtor,
        amountDue=amount_text(invoice.amount_due),
        createdAt=timestamp_text(invoice.created_at),
        updatedAt=timestamp_text(invoice.updated_at),
        paidAt=None if invoice.paid_at is None else timestamp_text(invoice.paid_at),
        version=invoice.version,
    )


async def load(table: Table, ids: Sequence[InvoiceId]) -> list[Invoice | None]:
    return await InvoiceRepository(table).find_many(ids)


def load_all(table: Table) -> AsyncIterator[Invoice]:
    return table.iterate(newest_invoices)


async def write(writer: RecordWriter, invoice: Invoice) -> None:
    await writer.write(put_new(invoices, invoice), note=ActivityNote("invoice.imported", invoice.id))


RECORD_KIND = RecordKind(
    name="invoice",
    plural="invoices",
    from_fields=from_fields,
    to_line=to_line,
    key=lambda invoice: invoice.id,
    load=load,
    load_all=load_all,
    write=write,
    lock_keys=lambda invoice: [invoice.id],
)
