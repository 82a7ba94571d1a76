"""Keys and access patterns of categories, and of the latest move of a category."""

from keyfence.domains.categories.model import Category, CategoryMove
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey

categories = entity(Category, table=TenantKey("CATEGORIES", "PATH#{path:path}"))
moves = entity(CategoryMove, table=TenantKey("CATEGORIES", "MOVE"))

category_by_path = categories.get()
category_tree = categories.query("table", begins_with="PATH#", range_field="path")
last_move = moves.get()
