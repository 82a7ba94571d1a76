"""GraphQL type and query of monthly sales."""

import strawberry

from keyfence.domains.products.graphql import Product, product_loader
from keyfence.domains.products.model import ProductId
from keyfence.domains.sales.monthly_sales import SalesRepository
from keyfence.graphql.context import Context, Info

DEFAULT_RANKING_SIZE = 10


def sales_repository(context: Context) -> SalesRepository:
    return SalesRepository(context.table)


@strawberry.type(description="A product and the quantity that was sold.")
class ProductSales:
    """One row of the ranking of a month."""

    product: Product
    quantity: int


@strawberry.type
class SalesQueries:
    """Queries of sales."""

    @strawberry.field(
        description="The products that sold most in a month, best first. A month is written like 2026-11."
    )
    async def top_products(
        self, info: Info, month: str, first: int | None = DEFAULT_RANKING_SIZE
    ) -> list[ProductSales]:
        ranking = await info.context.get(sales_repository).top(
            month, first=DEFAULT_RANKING_SIZE if first is None else first
        )
        products = await info.context.loader(product_loader).load_many([ProductId(sales.id) for sales in ranking])
        return [
            ProductSales(product=Product.of(product), quantity=sales.total)
            for sales, product in zip(ranking, products, strict=True)
            if product
        ]
