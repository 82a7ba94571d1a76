"""The catalogue: what is kept in the one table, every way in which it is reached, and what that costs."""

from service.catalogue.families import customer_with_orders
from service.catalogue.named import Named
from service.catalogue.page import as_markdown, as_rows
from service.catalogue.register import ACCESS, entities, patterns

__all__ = ["ACCESS", "Named", "as_markdown", "as_rows", "customer_with_orders", "entities", "patterns"]
