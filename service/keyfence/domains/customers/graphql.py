"""Type, queries, mutations; the item collection customer with orders."""

from dataclasses import dataclass
from datetime import datetime

import strawberry
from strawberry.dataloader import DataLoader

from keyfence.auth.principal import Role
from keyfence.domains.customers import access_patterns as customers
from keyfence.domains.customers import model
from keyfence.domains.customers.repository import CustomerRepository, customer_id
from keyfence.domains.orders import access_patterns as orders
from keyfence.domains.orders.graphql import Order, order_repository
from keyfence.domains.orders.model import CustomerId, OrderRow, OrderStatus
from keyfence.graphql.context import Context, Info
from keyfence.graphql.mutations import given_fields, mutation
from keyfence.graphql.relay import DEFAULT_PAGE_SIZE, Connection, Node, connection, page_size
from keyfence.graphql.selections import requested_subfields
from keyfence.store.entity import ItemCollection
from keyfence.store.pagination import MAX_PAGE_SIZE, Page

customer_with_orders = ItemCollection(customers.customers, orders.orders_of_customer)


def customer_repository(context: Context) -> CustomerRepository:
    return CustomerRepository(context.table)


def customer_loader(context: Context) -> DataLoader[model.CustomerId, model.Customer | None]:
    return DataLoader(load_fn=context.get(customer_repository).find_many)


async def load_customer(context: Context, id: str) -> Node | None:
    customer = await context.loader(customer_loader).load(model.CustomerId(id))
    return Customer.of(customer) if customer else None


@dataclass(frozen=True, slots=True)
class PrefetchedOrders:
    """So many of a customer's newest orders, which came along with the customer."""

    first: int
    page: Page[OrderRow]


@strawberry.type(description="Somebody who orders.")
class Customer(Node):
    """A customer, with what they ordered."""

    name: str
    email: str | None
    created_at: datetime
    updated_at: datetime
    version: int
    source: strawberry.Private[model.Customer]
    newest: strawberry.Private[PrefetchedOrders | None] = None

    @classmethod
    def of(cls, customer: model.Customer, newest: PrefetchedOrders | None = None) -> "Customer":
        return cls(
            id=strawberry.ID(customer.id),
            name=customer.name,
            email=customer.email,
            created_at=customer.created_at,
            updated_at=customer.updated_at,
            version=customer.version,
            source=customer,
            newest=newest,
        )

    @strawberry.field(description="Newest first, all of them or those in a status.")
    async def orders(
        self, info: Info, status: OrderStatus | None = None, first: int | None = 20, after: str | None = None
    ) -> Connection[Order]:
        if self.newest and (status, page_size(first), after) == (None, self.newest.first, None):
            return connection(self.newest.page, Order.of)
        buyer = CustomerId(self.source.id)
        page = await info.context.get(order_repository).of_customer(
            buyer, status=status, first=page_size(first), after=after
        )
        return connection(page, Order.of)


@strawberry.input
class CreateCustomerInput:
    """A new customer."""

    name: str
    email: str | None = None


@strawberry.input
class UpdateCustomerInput:
    """What to change; what is left out stays."""

    name: str | None = strawberry.UNSET
    email: str | None = strawberry.UNSET


@strawberry.type
class CustomerQueries:
    """Questions about customers."""

    @strawberry.field
    async def customer(self, info: Info, id: strawberry.ID) -> Customer | None:
        wanted, first = customer_id(id), _newest_wanted(info)
        if first is not None:
            return await _with_orders(info.context, wanted, first)
        found = await info.context.loader(customer_loader).load(wanted)
        return Customer.of(found) if found else None

    @strawberry.field(description="Newest first.")
    async def customers(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Customer]:
        return connection(
            await info.context.get(customer_repository).newest(first=page_size(first), after=after), Customer.of
        )


@strawberry.type
class CustomerMutations:
    """What can be done to customers."""

    @mutation(needs=Role.MEMBER, description="Add a customer.")
    async def create_customer(self, info: Info, input: CreateCustomerInput) -> Customer:
        return Customer.of(await info.context.get(customer_repository).create(name=input.name, email=input.email))

    @mutation(needs=Role.MEMBER, description="Change a customer.")
    async def update_customer(
        self, info: Info, id: strawberry.ID, input: UpdateCustomerInput, expected_version: int | None = None
    ) -> Customer:
        wanted = given_fields(input, clearable=frozenset({"email"}))
        updated = await info.context.get(customer_repository).update(
            customer_id(id), expected_version=expected_version, **wanted
        )
        return Customer.of(updated)


def _newest_wanted(info: Info) -> int | None:
    """How many of the newest orders are asked for along with the customer, if that can be read together."""
    plain = [
        given for given in requested_subfields(info, "orders") if given.get("status") is given.get("after") is None
    ]
    sizes = [int(given.get("first") or DEFAULT_PAGE_SIZE) for given in plain]
    return next((first for first in sizes if 1 <= first <= MAX_PAGE_SIZE), None)


async def _with_orders(context: Context, id: model.CustomerId, first: int) -> Customer | None:
    """Both for one Query."""
    found, page = await context.table.item_collection(customer_with_orders, first=first, id=id, customer_id=id)
    if found is None:
        return None
    context.loader(customer_loader).prime(id, found)
    return Customer.of(found, PrefetchedOrders(first, page))
