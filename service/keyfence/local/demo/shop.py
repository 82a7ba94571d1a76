"""What has happened in a demo tenant's shop, the same on every machine."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from keyfence.domains.activity.activity_log import Activity
from keyfence.domains.categories.model import Category
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.domains.orders.bulk_format import OrderRecord
from keyfence.domains.products.bulk import ProductRecord
from keyfence.domains.products.model import Product, ProductId, revision_of
from keyfence.domains.stores.model import Store, StoreId, new_store
from keyfence.local.demo.orders import FIRST_ORDER, DemoOrders
from keyfence.local.demo.tenants import FIRST_DAY, DemoProduct, DemoShop, DemoTenant

OPENING = FIRST_DAY + timedelta(days=2)


@dataclass(frozen=True, slots=True)
class ShopData:
    """The shop as it stands now."""

    demo: DemoTenant
    now: datetime

    @property
    def shop(self) -> DemoShop:
        return self.demo.shop

    def customers(self) -> list[Customer]:
        return [self._customer(at, name) for at, name in enumerate(self.shop.customers)]

    def _customer(self, at: int, name: str) -> Customer:
        came = OPENING + timedelta(hours=31 * at)
        email = f"{name.split(maxsplit=1)[0].lower()}.{at}@customer.example" if at % 6 else None
        id = CustomerId(self.demo.id_of("cus", f"{at} {name}", came))
        return Customer(id=id, name=name, email=email, created_at=came, updated_at=came)

    def categories(self) -> list[Category]:
        counts = Counter(ware.category for ware in self.shop.wares)
        return [
            Category(path=path, created_at=OPENING, updated_at=OPENING, product_count=counts[path])
            for path in self.shop.categories
        ]

    def stores(self) -> list[Store]:
        return [
            new_store(
                id=StoreId(self.demo.id_of("sto", name, OPENING)),
                name=name,
                latitude=latitude,
                longitude=longitude,
                now=OPENING,
            )
            for name, (latitude, longitude) in self.shop.stores.items()
        ]

    def products(self) -> list[ProductRecord]:
        return [self._product(ware) for ware in self.shop.wares]

    def _product(self, ware: DemoProduct) -> ProductRecord:
        """Each price after the first came a quarter of the time later."""
        quarter = timedelta(days=self.shop.days // 4)
        times = [OPENING, *(FIRST_ORDER + quarter * at for at in range(1, len(ware.prices)))]
        states = [
            Product(
                id=ProductId(self.demo.id_of("prd", ware.sku, OPENING)),
                sku=ware.sku,
                name=ware.name,
                price=Decimal(price),
                currency=self.shop.currency,
                category=ware.category,
                created_at=OPENING,
                updated_at=time,
                revision=number,
                version=number,
            )
            for number, (price, time) in enumerate(zip(ware.prices, times, strict=True), start=1)
        ]
        editor = self.demo.user_id(self.demo.people[-1])
        return ProductRecord(states[-1], tuple(revision_of(state, editor) for state in states))

    def orders(self) -> list[OrderRecord]:
        return self._sold().orders()

    def journal(self) -> list[Activity]:
        return self._sold().journal()

    def _sold(self) -> DemoOrders:
        return DemoOrders(self.demo, self.customers(), self.products(), self.now)
