"""The records of a demo tenant's shop. They are the same on every machine."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from keyfence.domains.activity.activity_log import Activity
from keyfence.domains.categories.model import Category
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.domains.orders.bulk_record import OrderRecord
from keyfence.domains.products.bulk import ProductRecord
from keyfence.domains.products.model import Product, ProductId, revision_of
from keyfence.domains.stores.model import Store, StoreId, new_store
from keyfence.local.demo.orders import FIRST_ORDER_AT, DemoOrders
from keyfence.local.demo.tenants import FOUNDED_AT, DemoProduct, DemoShop, DemoTenant

OPENED_AT = FOUNDED_AT + timedelta(days=2)


@dataclass(frozen=True, slots=True)
class ShopData:
    """The customers, categories, products, stores and orders of a demo tenant."""

    tenant: DemoTenant
    now: datetime

    @property
    def shop(self) -> DemoShop:
        return self.tenant.shop

    def customers(self) -> list[Customer]:
        return [self._customer(number, name) for number, name in enumerate(self.shop.customers)]

    def _customer(self, number: int, name: str) -> Customer:
        joined_at = OPENED_AT + timedelta(hours=31 * number)
        first_name = name.split(maxsplit=1)[0].lower()
        email = f"{first_name}.{number}@customer.example" if number % 6 else None  # every sixth customer has none
        id = CustomerId(self.tenant.make_id("cus", f"{number} {name}", joined_at))
        return Customer(id=id, name=name, email=email, created_at=joined_at, updated_at=joined_at)

    def categories(self) -> list[Category]:
        counts = Counter(product.category for product in self.shop.products)
        return [
            Category(path=path, created_at=OPENED_AT, updated_at=OPENED_AT, product_count=counts[path])
            for path in self.shop.categories
        ]

    def stores(self) -> list[Store]:
        return [
            new_store(
                id=StoreId(self.tenant.make_id("sto", name, OPENED_AT)),
                name=name,
                latitude=latitude,
                longitude=longitude,
                now=OPENED_AT,
            )
            for name, (latitude, longitude) in self.shop.stores.items()
        ]

    def products(self) -> list[ProductRecord]:
        return [self._product(product) for product in self.shop.products]

    def _product(self, product: DemoProduct) -> ProductRecord:
        """Returns a product with a revision for each of its prices. The price changes every quarter of `shop.days`."""
        quarter = timedelta(days=self.shop.days // 4)
        changed_at = [OPENED_AT, *(FIRST_ORDER_AT + quarter * number for number in range(1, len(product.prices)))]
        versions = [
            Product(
                id=ProductId(self.tenant.make_id("prd", product.sku, OPENED_AT)),
                sku=product.sku,
                name=product.name,
                price=Decimal(price),
                currency=self.shop.currency,
                category=product.category,
                created_at=OPENED_AT,
                updated_at=updated_at,
                revision=number,
                version=number,
            )
            for number, (price, updated_at) in enumerate(zip(product.prices, changed_at, strict=True), start=1)
        ]
        editor = self.tenant.user_id(self.tenant.users[-1])
        return ProductRecord(versions[-1], tuple(revision_of(version, editor) for version in versions))

    def orders(self) -> list[OrderRecord]:
        return self._demo_orders().orders()

    def activities(self) -> list[Activity]:
        return self._demo_orders().activities()

    def _demo_orders(self) -> DemoOrders:
        return DemoOrders(self.tenant, self.customers(), self.products(), self.now)
