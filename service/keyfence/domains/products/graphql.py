"""GraphQL types, queries and mutations of products."""

from datetime import datetime
from decimal import Decimal

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.counters.sharded_counter import CounterRepository
from keyfence.domains.products import model
from keyfence.domains.products.model import ProductId
from keyfence.domains.products.repository import ProductRepository, checked_product_id
from keyfence.graphql.context import Context, DataLoader, Info
from keyfence.graphql.mutation_checks import mutation, sent_fields
from keyfence.graphql.relay_types import Connection, Node, connection, page_size
from keyfence.store.writes import ActivityNote


def product_repository(context: Context) -> ProductRepository:
    return ProductRepository(context.table, context.principal.subject)


def counter_repository(context: Context) -> CounterRepository:
    return CounterRepository(context.table)


def product_loader(context: Context) -> DataLoader[ProductId, model.Product | None]:
    return DataLoader(load_fn=context.get(product_repository).find_many)


def counter_loader(context: Context) -> DataLoader[str, int]:
    return DataLoader(load_fn=context.get(counter_repository).totals)


async def load_product(context: Context, id: str) -> Node | None:
    product = await context.loader(product_loader).load(ProductId(id))
    return Product.of(product) if product else None


@strawberry.type(description="A product as it was from the time of this revision until the next revision.")
class ProductRevision:
    """A revision of a product. Revisions never change."""

    revision: int
    name: str
    price: Decimal
    created_at: datetime = strawberry.field(name="at")
    actor: str = strawberry.field(name="by")

    @classmethod
    def of(cls, revision: model.ProductRevision) -> "ProductRevision":
        return cls(
            revision=revision.revision,
            name=revision.name,
            price=revision.price,
            created_at=revision.created_at,
            actor=revision.actor,
        )


@strawberry.type(description="A product that can be ordered.")
class Product(Node):
    """A product in its latest revision."""

    sku: str
    name: str
    price: Decimal
    currency: str
    category: list[str]
    revision: int
    created_at: datetime
    updated_at: datetime
    version: int
    source: strawberry.Private[model.Product]

    @classmethod
    def of(cls, product: model.Product) -> "Product":
        return cls(
            id=strawberry.ID(product.id),
            sku=product.sku,
            name=product.name,
            price=product.price,
            currency=product.currency,
            category=list(product.category),
            revision=product.revision,
            created_at=product.created_at,
            updated_at=product.updated_at,
            version=product.version,
            source=product,
        )

    @strawberry.field(description="All revisions, newest first.")
    async def revisions(
        self, info: Info, first: int | None = 20, after: str | None = None
    ) -> Connection[ProductRevision]:
        page = await info.context.get(product_repository).revisions(self.source.id, first=page_size(first), after=after)
        return connection(page, ProductRevision.of)

    @strawberry.field(description="How often the product was viewed.")
    async def views(self, info: Info) -> int:
        return await info.context.loader(counter_loader).load(model.view_counter_name(self.source.id))


@strawberry.input
class CreateProductInput:
    """The fields of a new product. The category must exist."""

    sku: str
    name: str
    price: Decimal
    category: list[str]
    currency: str | None = "EUR"


@strawberry.input
class ReviseProductInput:
    """The fields to change. A field that is left out keeps its value."""

    name: str | None = strawberry.UNSET
    price: Decimal | None = strawberry.UNSET
    category: list[str] | None = strawberry.UNSET


@strawberry.type
class ProductQueries:
    """Queries of products."""

    @strawberry.field
    async def product(self, info: Info, id: strawberry.ID) -> Product | None:
        found = await info.context.loader(product_loader).load(checked_product_id(id))
        return Product.of(found) if found else None

    @strawberry.field
    async def product_by_sku(self, info: Info, sku: str) -> Product | None:
        found = await info.context.get(product_repository).find_by_sku(sku)
        return Product.of(found) if found else None

    @strawberry.field(
        description="The products of a category, without its subcategories, cheapest first. "
        "Both price bounds are included."
    )
    async def products_in_category(
        self,
        info: Info,
        path: list[str],
        min_price: Decimal | None = None,
        max_price: Decimal | None = None,
        first: int | None = 20,
        after: str | None = None,
    ) -> Connection[Product]:
        page = await info.context.get(product_repository).in_category(
            path, min_price=min_price, max_price=max_price, first=page_size(first), after=after
        )
        return connection(page, Product.of)


@strawberry.type
class ProductMutations:
    """Mutations of products."""

    @mutation(needs=Role.ADMIN, description="Create a product. No other product of the tenant may have the same SKU.")
    async def create_product(self, info: Info, input: CreateProductInput) -> Product:
        created = await info.context.get(product_repository).create(
            sku=input.sku,
            name=input.name,
            price=input.price,
            currency=input.currency or "EUR",
            category=input.category,
        )
        return Product.of(created)

    @mutation(needs=Role.ADMIN, description="Change a product. Its earlier state stays in its revisions.")
    async def revise_product(
        self, info: Info, id: strawberry.ID, input: ReviseProductInput, expected_version: int | None = None
    ) -> Product:
        revised = await info.context.get(product_repository).revise(
            checked_product_id(id), expected_version=expected_version, **sent_fields(input)
        )
        return Product.of(revised)

    @mutation(needs=Role.MEMBER, description="Count a view of a product.")
    async def count_product_view(self, info: Info, id: strawberry.ID) -> bool:
        product = await info.context.get(product_repository).get(checked_product_id(id))
        await info.context.get(counter_repository).add(
            model.view_counter_name(product.id), ActivityNote("product.viewed", product.id)
        )
        return True
