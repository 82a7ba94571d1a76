"""Customers in lines."""

from collections.abc import Sequence

from keyfence.bulk.fields import Given, moment, text, whole
from keyfence.bulk.record_kind import Kind, Line, Writer, line, new
from keyfence.domains.customers.access import customers
from keyfence.domains.customers.model import Customer, checked_email, checked_name
from keyfence.domains.customers.repository import Customers, customer_id
from keyfence.store.table import Table
from keyfence.store.timestamps import instant
from keyfence.store.writes import Note


def read(given: Given) -> Customer:
    given.only("type", "id", "name", "email", "createdAt", "updatedAt", "version")
    created = given.take("createdAt", moment)
    return Customer(
        id=given.take("id", lambda value: customer_id(text(value))),
        name=given.take("name", lambda value: checked_name(text(value))),
        email=given.maybe("email", lambda value: checked_email(text(value)), None),
        created_at=created,
        updated_at=given.maybe("updatedAt", moment, created),
        version=given.maybe("version", whole, 1),
    )


def spell(customer: Customer) -> Line:
    return line(
        "customer",
        id=customer.id,
        name=customer.name,
        email=customer.email,
        createdAt=instant(customer.created_at),
        updatedAt=instant(customer.updated_at),
        version=customer.version,
    )


async def find(table: Table, wanted: Sequence[Customer]) -> list[Customer | None]:
    return await Customers(table).find_many([one.id for one in wanted])


async def write(writer: Writer, customer: Customer) -> None:
    after = {"name": customer.name, "email": customer.email}
    await writer.write(new(customers, customer), note=Note("customer.imported", customer.id, {"after": after}))


KIND = Kind(name="customer", read=read, spell=spell, find=find, write=write, touches=lambda customer: [customer.id])
