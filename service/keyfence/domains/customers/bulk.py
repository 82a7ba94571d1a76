"""Import and export of customers."""

from collections.abc import AsyncIterator, Sequence

from keyfence.bulk.json_lines import Line, new_line
from keyfence.bulk.record_fields import Fields, parse_positive_integer, parse_text, parse_timestamp
from keyfence.bulk.record_kind import RecordKind, RecordWriter, put_new
from keyfence.domains.customers.access_patterns import customers, newest_customers
from keyfence.domains.customers.model import Customer, CustomerId, checked_name
from keyfence.domains.customers.repository import CustomerRepository, checked_customer_id
from keyfence.email_address import checked_email
from keyfence.store.table import Table
from keyfence.store.timestamps import timestamp_text
from keyfence.store.writes import ActivityNote


def from_fields(fields: Fields) -> Customer:
    fields.allow_only("type", "id", "name", "email", "createdAt", "updatedAt", "version")
    created_at = fields.required("createdAt", parse_timestamp)
    return Customer(
        id=fields.required("id", lambda value: checked_customer_id(parse_text(value))),
        name=fields.required("name", lambda value: checked_name(parse_text(value))),
        email=fields.optional("email", lambda value: checked_email(parse_text(value)), None),
        created_at=created_at,
        updated_at=fields.optional("updatedAt", parse_timestamp, created_at),
        version=fields.optional("version", parse_positive_integer, 1),
    )


def to_line(customer: Customer) -> Line:
    return new_line(
        "customer",
        id=customer.id,
        name=customer.name,
        email=customer.email,
        createdAt=timestamp_text(customer.created_at),
        updatedAt=timestamp_text(customer.updated_at),
        version=customer.version,
    )


async def load(table: Table, ids: Sequence[CustomerId]) -> list[Customer | None]:
    return await CustomerRepository(table).find_many(ids)


def load_all(table: Table) -> AsyncIterator[Customer]:
    return table.iterate(newest_customers)


async def write(writer: RecordWriter, customer: Customer) -> None:
    after = {"name": customer.name, "email": customer.email}
    note = ActivityNote("customer.imported", customer.id, {"after": after})
    await writer.write(put_new(customers, customer), note=note)


RECORD_KIND = RecordKind(
    name="customer",
    plural="customers",
    from_fields=from_fields,
    to_line=to_line,
    key=lambda customer: customer.id,
    load=load,
    load_all=load_all,
    write=write,
    lock_keys=lambda customer: [customer.id],
)
