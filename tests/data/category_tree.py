"""A tree of categories with products, and what its lists must show before and after a move."""

from dataclasses import dataclass, field
from decimal import Decimal

from keyfence.domains.categories.access_patterns import category_by_path
from keyfence.domains.categories.category_mover import CategoryMover
from keyfence.domains.categories.repository import CategoryRepository, read_tree
from keyfence.domains.products.category_products import CategoryProducts
from keyfence.domains.products.model import ProductId
from keyfence.domains.products.repository import ProductRepository
from keyfence.store.key_template import KeyPath
from keyfence.store.table import Table

AUDIO = ("audio",)
TREE: dict[KeyPath, int] = {
    AUDIO: 1,
    ("audio", "books"): 3,
    ("audio", "books", "a#b %"): 0,
    ("audio", "🦊"): 2,
    ("audiobooks",): 1,
    ("video",): 0,
}
"""The categories, with the number of products in each."""


def moves(table: Table) -> CategoryMover:
    return CategoryMover(table, CategoryProducts(table).move_products)


@dataclass(slots=True)
class CategoryTree:
    """A tenant's categories, and the category of each product."""

    table: Table
    products: dict[ProductId, KeyPath] = field(default_factory=dict)

    @classmethod
    async def create(cls, table: Table) -> "CategoryTree":
        created = cls(table)
        for path, count in TREE.items():
            await CategoryRepository(table).create(path)
            for number in range(count):
                await created.add_product(path, f"{'/'.join(path)}-{number}")
        return created

    async def add_product(self, path: KeyPath, sku: str) -> ProductId:
        product = await ProductRepository(self.table, "gardener").create(
            sku=sku, name=sku, price=Decimal("1.5"), currency="EUR", category=path
        )
        self.products[product.id] = path
        return product.id

    async def listed_products(self) -> dict[KeyPath, list[str]]:
        """Returns the products that the list of each category shows."""
        shown = [category.path for category in await CategoryRepository(self.table).subtree()]
        assert len(shown) == len(set(shown))
        products = ProductRepository(self.table, "visitor")
        pages = {path: await products.in_category(path, first=100, after=None) for path in shown}
        return {path: sorted(product.id for product in page.items) for path, page in pages.items()}

    def products_after_move(self, source: KeyPath, target: KeyPath) -> dict[KeyPath, list[str]]:
        """Returns what `listed_products` must return after `source` has moved to `target`."""
        return {_moved(path, source, target): self._in(path) for path in {*TREE, *self.products.values()}}

    def _in(self, path: KeyPath) -> list[str]:
        return sorted(id for id, place in self.products.items() if place == path)

    async def check(self) -> None:
        """Asserts that no move is under way, and that counts, ids, SKUs and categories of all products agree."""
        for category in await read_tree(self.table):
            assert category.move_state is None
            assert category.depth == 1 or await self.table.find(category_by_path, path=category.path[:-1])
        counts = {category.path: category.product_count for category in await read_tree(self.table)}
        seen, products = await self.listed_products(), ProductRepository(self.table, "visitor")
        assert {path: len(ids) for path, ids in seen.items()} == counts
        for product in await products.find_many([*self.products]):
            assert product is not None
            assert product.id in seen[product.category]
            claim = await products.find_by_sku(product.sku)
            assert claim is not None
            assert (claim.category, claim.version) == (product.category, product.version)


def _moved(path: KeyPath, source: KeyPath, target: KeyPath) -> KeyPath:
    return target + path[len(source) :] if path[: len(source)] == source else path
