"""What was sold, as tenants see it, and how orders make it so."""

import strawberry

from keyfence.domains.products.graphql import Product, product_loader
from keyfence.domains.products.model import ProductId
from keyfence.domains.sales.sales import SalesRepository
from keyfence.graphql.context import Context, Info

USUAL = 10


def sales_repository(context: Context) -> SalesRepository:
    return SalesRepository(context.table)


@strawberry.type(description="How many of a product were sold.")
class ProductSales:
    """One place in a ranking."""

    product: Product
    quantity: int


@strawberry.type
class SalesQueries:
    """Questions about sales."""

    @strawberry.field(description="What was sold most in the orders of a month, most first; a month is like 2026-11.")
    async def top_products(self, info: Info, month: str, first: int | None = USUAL) -> list[ProductSales]:
        sold = await info.context.get(sales_repository).top(month, first=USUAL if first is None else first)
        found = await info.context.loader(product_loader).load_many([ProductId(one.id) for one in sold])
        return [
            ProductSales(product=Product.of(product), quantity=one.total)
            for one, product in zip(sold, found, strict=True)
            if product
        ]
