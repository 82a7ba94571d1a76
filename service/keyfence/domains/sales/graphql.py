"""GraphQL type and query of monthly sales."""

import strawberry

from keyfence.domains.products.graphql import Product, product_loader
from keyfence.domains.products.model import ProductId
from keyfence.domains.sales.monthly_sales import SalesRepository
from keyfence.graphql.context import Context, Info

DEFAULT_RANKING_SIZE = 10


def sales_repository(context: Context) -> SalesRepository:
    return SalesRepository(context.table)


@strawberry.type(description="A product and how many of it were sold.")
class ProductSales:
    """One row of a ranking."""

    product: Product
    quantity: int


@strawberry.type
class SalesQueries:
    """Queries of sales."""

    @strawberry.field(
        description="The products that sold most in a month, most first. A month is written like 2026-11."
    )
    async def top_products(
        self, info: Info, month: str, first: int | None = DEFAULT_RANKING_SIZE
    ) -> list[ProductSales]:
        sold = await info.context.get(sales_repository).top(
            month, first=DEFAULT_RANKING_SIZE if first is None else first
        )
        found = await info.context.loader(product_loader).load_many([ProductId(one.id) for one in sold])
        return [
            ProductSales(product=Product.of(product), quantity=one.total)
            for one, product in zip(sold, found, strict=True)
            if product
        ]
