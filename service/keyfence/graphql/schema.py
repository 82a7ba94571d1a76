"""The tenants' schema: every noun's questions and mutations, joined."""

from collections.abc import Awaitable, Callable, Mapping

import strawberry
from strawberry.schema.config import StrawberryConfig

from keyfence.domains.activity.graphql import ActivityQueries
from keyfence.domains.categories.graphql import CategoryMutations, CategoryQueries
from keyfence.domains.customers.graphql import Customer, CustomerMutations, CustomerQueries
from keyfence.domains.customers.model import CustomerId
from keyfence.domains.groups.graphql import Group, GroupMutations, GroupQueries, MembershipMutations
from keyfence.domains.groups.model import GroupId
from keyfence.domains.orders.graphql import Order, OrderQueries, ReviewQueries
from keyfence.domains.orders.model import OrderId
from keyfence.domains.orders.mutations import OrderMutations
from keyfence.domains.products.graphql import Product, ProductMutations, ProductQueries
from keyfence.domains.products.model import ProductId
from keyfence.domains.sales.graphql import SalesQueries
from keyfence.domains.sessions.graphql import SessionMutations
from keyfence.domains.stores.graphql import Store, StoreMutations, StoreQueries
from keyfence.domains.stores.model import StoreId
from keyfence.domains.users.graphql import User, UserMutations, UserQueries, ViewerQueries
from keyfence.domains.users.model import UserId
from keyfence.graphql.context import Context, Info
from keyfence.graphql.executor import LeafFieldExecutor
from keyfence.graphql.relay import Node
from keyfence.graphql.scalars import SCALARS
from keyfence.store.ids import prefix_of


async def _user(context: Context, id: str) -> Node | None:
    found = await context.loaders.users.load(UserId(id))
    return User.of(found) if found else None


async def _group(context: Context, id: str) -> Node | None:
    found = await context.loaders.groups.load(GroupId(id))
    return Group.of(found) if found else None


async def _customer(context: Context, id: str) -> Node | None:
    found = await context.loaders.customers.load(CustomerId(id))
    return Customer.of(found) if found else None


async def _order(context: Context, id: str) -> Node | None:
    found = await context.loaders.orders.load(OrderId(id))
    return Order.of(found) if found else None


async def _product(context: Context, id: str) -> Node | None:
    found = await context.loaders.products.load(ProductId(id))
    return Product.of(found) if found else None


async def _store(context: Context, id: str) -> Node | None:
    found = await context.loaders.stores.load(StoreId(id))
    return Store.of(found) if found else None


NODES: Mapping[str | None, Callable[[Context, str], Awaitable[Node | None]]] = {
    "usr": _user,
    "grp": _group,
    "cus": _customer,
    "ord": _order,
    "sto": _store,
    "prd": _product,
}


@strawberry.type
class Query(
    ViewerQueries,
    UserQueries,
    GroupQueries,
    CustomerQueries,
    OrderQueries,
    ReviewQueries,
    StoreQueries,
    ProductQueries,
    CategoryQueries,
    SalesQueries,
    ActivityQueries,
):
    """What a tenant can ask."""

    @strawberry.field(description="Anything by its id; null where there is no such thing.")
    async def node(self, info: Info, id: strawberry.ID) -> Node | None:
        found = NODES.get(prefix_of(id))
        return await found(info.context, id) if found else None


@strawberry.type
class Mutation(
    UserMutations,
    GroupMutations,
    MembershipMutations,
    CustomerMutations,
    OrderMutations,
    StoreMutations,
    SessionMutations,
    ProductMutations,
    CategoryMutations,
):
    """What a tenant can change."""


schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    types=[User, Group, Customer, Order, Store, Product],
    execution_context_class=LeafFieldExecutor,
    config=StrawberryConfig(scalar_map=SCALARS, disable_field_suggestions=True),
)
