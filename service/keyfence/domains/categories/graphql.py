"""GraphQL type, query and mutations of categories."""

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.categories import model
from keyfence.domains.categories.category_mover import CategoryMover
from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.products.category_products import CategoryProducts
from keyfence.graphql.context import Context, Info
from keyfence.graphql.mutation_checks import mutation


def category_repository(context: Context) -> CategoryRepository:
    return CategoryRepository(context.table)


def category_mover(context: Context) -> CategoryMover:
    return CategoryMover(context.table, CategoryProducts(context.table).move_products)


@strawberry.type(description="A category of products, in a tree of categories.")
class Category:
    """A category. `path` has the names from the top of the tree to the category."""

    path: list[str]
    name: str
    depth: int

    @classmethod
    def of(cls, category: model.Category) -> "Category":
        return cls(path=list(category.path), name=category.name, depth=category.depth)


@strawberry.type
class CategoryQueries:
    """Queries of categories."""

    @strawberry.field(
        description="The category `under` and everything below it. Without `under`: the complete tree. "
        "Parents come before their children."
    )
    async def categories(self, info: Info, under: list[str] | None = None) -> list[Category]:
        return [Category.of(category) for category in await info.context.get(category_repository).subtree(under)]


@strawberry.type
class CategoryMutations:
    """Mutations of categories."""

    @mutation(needs=Role.ADMIN, description="Create a category at the top of the tree or under an existing one.")
    async def create_category(self, info: Info, path: list[str]) -> Category:
        return Category.of(await info.context.get(category_repository).create(path))

    @mutation(
        needs=Role.ADMIN,
        description="Move a category with its subcategories and products. Returns the number of moved categories. "
        "A move that was interrupted continues with the next call.",
    )
    async def move_category(self, info: Info, path: list[str], to: list[str]) -> int:
        return await info.context.get(category_mover).move(path, to)
