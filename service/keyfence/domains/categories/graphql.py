"""The tree of categories as tenants see it."""

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.categories import model
from keyfence.domains.categories.move import CategoryMoves
from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.products.category_products import CategoryProducts
from keyfence.graphql.context import Context, Info
from keyfence.graphql.mutations import mutation


def category_repository(context: Context) -> CategoryRepository:
    return CategoryRepository(context.table)


def category_moves(context: Context) -> CategoryMoves:
    return CategoryMoves(context.table, CategoryProducts(context.table).carry)


@strawberry.type(description="A place in the tree that products stand in.")
class Category:
    """A category."""

    path: list[str]
    name: str
    depth: int

    @classmethod
    def of(cls, category: model.Category) -> "Category":
        return cls(path=list(category.path), name=category.name, depth=category.depth)


@strawberry.type
class CategoryQueries:
    """Questions about categories."""

    @strawberry.field(description="A category and everything below it, or the whole tree; parents come first.")
    async def categories(self, info: Info, under: list[str] | None = None) -> list[Category]:
        return [Category.of(category) for category in await info.context.get(category_repository).under(under)]


@strawberry.type
class CategoryMutations:
    """What can be done to categories."""

    @mutation(needs=Role.ADMIN, description="Add a category at the top of the tree or under one that exists.")
    async def create_category(self, info: Info, path: list[str]) -> Category:
        return Category.of(await info.context.get(category_repository).create(path))

    @mutation(
        needs=Role.ADMIN,
        description="Move a category with all that is below and in it, and say how many categories that were. "
        "What was interrupted goes on with the next move.",
    )
    async def move_category(self, info: Info, path: list[str], to: list[str]) -> int:
        return await info.context.get(category_moves).move(path, to)
