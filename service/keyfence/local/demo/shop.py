"""The records of a demo tenant's shop, which are the same on every machine."""

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

    demo: DemoTenant
    now: datetime

    @property
    def shop(self) -> DemoShop:
        return self.demo.shop

    def customers(self) -> list[Customer]:
        return [self._customer(number, name) for number, name in enumerate(self.shop.customers)]

    def _customer(self, number: int, name: str) -> Customer:
        joined = OPENED_AT + timedelta(hours=31 * number)
        email = f"{name.split(maxsplit=1)[0].lower()}.{number}@customer.example" if number % 6 else None
        id = CustomerId(self.demo.make_id("cus", f"{number} {name}", joined))
        return Customer(id=id, name=name, email=email, created_at=joined, updated_at=joined)

    def categories(self) -> list[Category]:
        counts = Counter(product.category for product in self.shop.products)
        return [
            Category(path=path, created_at=OPENED_AT, updated_at=OPENED_AT, product_count=counts[path])
            for path in self.shop.categories
        ]

    def stores(self) -> list[Store]:
        return [
            new_store(
                id=StoreId(self.demo.make_id("sto", name, OPENED_AT)),
                name=name,
                latitude=latitude,
                longitude=longitude,
                now=OPENED_AT,
            )
            for name, (latitude, longitude) in self.shop.stores.items()
        ]

    def products(self) -> list[ProductRecord]:
        return [self._product(product) for product in self.shop.products]

    def _product(self, demo: DemoProduct) -> ProductRecord:
        """Returns a product whose price changed after each quarter of the shop's time."""
        quarter = timedelta(days=self.shop.days // 4)
        times = [OPENED_AT, *(FIRST_ORDER_AT + quarter * number for number in range(1, len(demo.prices)))]
        states = [
            Product(
                id=ProductId(self.demo.make_id("prd", demo.sku, OPENED_AT)),
                sku=demo.sku,
                name=demo.name,
                price=Decimal(price),
                currency=self.shop.currency,
                category=demo.category,
                created_at=OPENED_AT,
                updated_at=time,
                revision=number,
                version=number,
            )
            for number, (price, time) in enumerate(zip(demo.prices, times, strict=True), start=1)
        ]
        editor = self.demo.user_id(self.demo.users[-1])
        return ProductRecord(states[-1], tuple(revision_of(state, editor) for state in states))

    def orders(self) -> list[OrderRecord]:
        return self._demo_orders().orders()

    def activities(self) -> list[Activity]:
        return self._demo_orders().activities()

    def _demo_orders(self) -> DemoOrders:
        return DemoOrders(self.demo, self.customers(), self.products(), self.now)
