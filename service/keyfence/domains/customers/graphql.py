"""GraphQL type, queries and mutations of customers, and the item collection of a customer with its orders."""

from dataclasses import dataclass
from datetime import datetime

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.customers import access_patterns as customers
from keyfence.domains.customers import model
from keyfence.domains.customers.repository import CustomerRepository, checked_customer_id
from keyfence.domains.orders import access_patterns as orders
from keyfence.domains.orders.graphql import Order, order_repository
from keyfence.domains.orders.model import CustomerId, OrderRow, OrderStatus
from keyfence.graphql.context import Context, DataLoader, Info
from keyfence.graphql.mutation_checks import mutation, sent_fields
from keyfence.graphql.query_selections import requested_subfields
from keyfence.graphql.relay_types import DEFAULT_PAGE_SIZE, Connection, Node, connection, page_size
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
    """The first page of a customer's orders, read by the same Query as the customer. `first` is the page size."""

    first: int
    page: Page[OrderRow]


@strawberry.type(description="A customer, who places orders.")
class Customer(Node):
    """A customer. `prefetched` is the page of orders that was read together with the customer, if there is one."""

    name: str
    email: str | None
    created_at: datetime
    updated_at: datetime
    version: int
    source: strawberry.Private[model.Customer]
    prefetched: strawberry.Private[PrefetchedOrders | None] = None

    @classmethod
    def of(cls, customer: model.Customer, prefetched: PrefetchedOrders | None = None) -> "Customer":
        return cls(
            id=strawberry.ID(customer.id),
            name=customer.name,
            email=customer.email,
            created_at=customer.created_at,
            updated_at=customer.updated_at,
            version=customer.version,
            source=customer,
            prefetched=prefetched,
        )

    @strawberry.field(
        description="The orders of the customer, newest first. If a status is given: only orders in this status."
    )
    async def orders(
        self, info: Info, status: OrderStatus | None = None, first: int | None = 20, after: str | None = None
    ) -> Connection[Order]:
        prefetched = self.prefetched
        if prefetched and (status, page_size(first), after) == (None, prefetched.first, None):
            return connection(prefetched.page, Order.of)
        customer = CustomerId(self.source.id)
        page = await info.context.get(order_repository).of_customer(
            customer, status=status, first=page_size(first), after=after
        )
        return connection(page, Order.of)


@strawberry.input
class CreateCustomerInput:
    """The fields of a new customer."""

    name: str
    email: str | None = None


@strawberry.input
class UpdateCustomerInput:
    """The fields to change. A field that is left out keeps its value."""

    name: str | None = strawberry.UNSET
    email: str | None = strawberry.UNSET


@strawberry.type
class CustomerQueries:
    """Queries of customers."""

    @strawberry.field
    async def customer(self, info: Info, id: strawberry.ID) -> Customer | None:
        checked_id, order_count = checked_customer_id(id), _orders_to_prefetch(info)
        if order_count is not None:
            return await _find_with_orders(info.context, checked_id, order_count)
        found = await info.context.loader(customer_loader).load(checked_id)
        return Customer.of(found) if found else None

    @strawberry.field(description="All customers, newest first.")
    async def customers(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Customer]:
        return connection(
            await info.context.get(customer_repository).newest(first=page_size(first), after=after), Customer.of
        )


@strawberry.type
class CustomerMutations:
    """Mutations of customers."""

    @mutation(needs=Role.MEMBER, description="Add a customer.")
    async def create_customer(self, info: Info, input: CreateCustomerInput) -> Customer:
        return Customer.of(await info.context.get(customer_repository).create(name=input.name, email=input.email))

    @mutation(needs=Role.MEMBER, description="Change a customer.")
    async def update_customer(
        self, info: Info, id: strawberry.ID, input: UpdateCustomerInput, expected_version: int | None = None
    ) -> Customer:
        changes = sent_fields(input, clearable=frozenset({"email"}))
        updated = await info.context.get(customer_repository).update(
            checked_customer_id(id), expected_version=expected_version, **changes
        )
        return Customer.of(updated)


def _orders_to_prefetch(info: Info) -> int | None:
    """Returns how many of the newest orders the query requests together with the customer, or None.

    Orders in one status, and orders after a cursor, are not counted, because they need a Query of their own."""
    first_pages = [
        arguments
        for arguments in requested_subfields(info, "orders")
        if arguments.get("status") is None and arguments.get("after") is None
    ]
    sizes = [int(arguments.get("first") or DEFAULT_PAGE_SIZE) for arguments in first_pages]
    return next((size for size in sizes if 1 <= size <= MAX_PAGE_SIZE), None)


async def _find_with_orders(context: Context, id: model.CustomerId, order_count: int) -> Customer | None:
    """Reads the customer and its newest orders by one Query."""
    found, page = await context.table.item_collection(customer_with_orders, first=order_count, id=id, customer_id=id)
    if found is None:
        return None
    context.loader(customer_loader).prime(id, found)
    return Customer.of(found, PrefetchedOrders(order_count, page))
