"""Customers in lines."""

from collections.abc import Sequence

from keyfence.bulk.fields import Fields, text, timestamp, whole
from keyfence.bulk.record_kind import Line, RecordKind, RecordWriter, put_new, record_line
from keyfence.domains.customers.access_patterns import customers
from keyfence.domains.customers.model import Customer, checked_email, checked_name
from keyfence.domains.customers.repository import CustomerRepository, customer_id
from keyfence.store.table import Table
from keyfence.store.timestamps import timestamp_text
from keyfence.store.writes import ActivityNote


def read(given: Fields) -> Customer:
    given.allow_only("type", "id", "name", "email", "createdAt", "updatedAt", "version")
    created = given.take("createdAt", timestamp)
    return Customer(
        id=given.take("id", lambda value: customer_id(text(value))),
        name=given.take("name", lambda value: checked_name(text(value))),
        email=given.maybe("email", lambda value: checked_email(text(value)), None),
        created_at=created,
        updated_at=given.maybe("updatedAt", timestamp, created),
        version=given.maybe("version", whole, 1),
    )


def spell(customer: Customer) -> Line:
    return record_line(
        "customer",
        id=customer.id,
        name=customer.name,
        email=customer.email,
        createdAt=timestamp_text(customer.created_at),
        updatedAt=timestamp_text(customer.updated_at),
        version=customer.version,
    )


async def find(table: Table, wanted: Sequence[Customer]) -> list[Customer | None]:
    return await CustomerRepository(table).find_many([one.id for one in wanted])


async def write(writer: RecordWriter, customer: Customer) -> None:
    after = {"name": customer.name, "email": customer.email}
    await writer.write(
        put_new(customers, customer), note=ActivityNote("customer.imported", customer.id, {"after": after})
    )


RECORDS = RecordKind(
    name="customer", read=read, spell=spell, find=find, write=write, touches=lambda customer: [customer.id]
)
