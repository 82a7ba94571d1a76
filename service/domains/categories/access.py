"""Where categories are kept and the ways they are reached."""

from service.domains.categories.model import Category, Move
from service.store.entity import entity
from service.store.keys import TenantKey

categories = entity(Category, table=TenantKey("CATEGORIES", "PATH#{path:path}"))
moves = entity(Move, table=TenantKey("CATEGORIES", "MOVE"))

category_by_path = categories.get()
category_tree = categories.query("table", begins_with="PATH#", ranged="path")
last_move = moves.get()
