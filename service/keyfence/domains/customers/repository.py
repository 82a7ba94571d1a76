"""`CustomerRepository`: reads and writes the customers of one tenant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.customers.access_patterns import customer_by_id, customers, newest_customers
from keyfence.domains.customers.model import Customer, CustomerId, checked_name
from keyfence.email_address import checked_optional_email
from keyfence.errors import NotFound
from keyfence.store import timestamps
from keyfence.store.expressions import absent
from keyfence.store.ids import checked_id, new_id
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, changed_fields, put, require_version, retry_if_stale, update_model

CUSTOMER_NOT_FOUND = partial(NotFound, "no such customer")
_CHECKS_BY_FIELD: dict[str, Callable[[Any], Any]] = {"name": checked_name, "email": checked_optional_email}


def checked_customer_id(text: str, field: str = "id") -> CustomerId:
    return CustomerId(checked_id("cus", text, field))


@dataclass(frozen=True, slots=True)
class CustomerRepository:
    """The customers of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: CustomerId) -> Customer | None:
        return await self.table.find(customer_by_id, id=id)

    async def get(self, id: CustomerId) -> Customer:
        if (customer := await self.find(id)) is None:
            raise CUSTOMER_NOT_FOUND()
        return customer

    async def find_many(self, ids: Sequence[CustomerId]) -> list[Customer | None]:
        return await self.table.find_many(customer_by_id, [{"id": id} for id in ids])

    async def newest(self, *, first: int, after: str | None) -> Page[Customer]:
        return await self.table.page(newest_customers, first=first, after=after)

    async def create(self, *, name: str, email: str | None) -> Customer:
        now = self.now()
        customer = Customer(
            id=CustomerId(new_id("cus")),
            name=checked_name(name),
            email=checked_optional_email(email),
            created_at=now,
            updated_at=now,
        )
        note = ActivityNote("customer.created", customer.id, {"after": {"name": name, "email": email}})
        await self.table.write(put(customers, customer, when=absent()), note=note)
        return customer

    async def update(self, id: CustomerId, *, expected_version: int | None = None, **changes: Any) -> Customer:
        return await retry_if_stale(lambda: self._update(id, expected_version, changes))

    async def _update(self, id: CustomerId, expected_version: int | None, changes: dict[str, Any]) -> Customer:
        before = await self.get(id)
        require_version(before, expected_version, "customer")
        after = self._with_changes(before, changes)
        if after != before:
            note = ActivityNote("customer.updated", id, changed_fields(before, after, "name", "email"))
            await self.table.write(update_model(customers, before, after), note=note)
        return after

    def _with_changes(self, before: Customer, changes: dict[str, Any]) -> Customer:
        """Returns the customer with the new values and the next version, or unchanged if all values are the same."""
        after = replace(before, **{name: _CHECKS_BY_FIELD[name](value) for name, value in changes.items()})
        return after if after == before else replace(after, version=before.version + 1, updated_at=self.now())
