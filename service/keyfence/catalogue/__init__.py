"""The catalogue: what is kept in the one table, every way in which it is reached, and what that costs."""

from keyfence.catalogue.families import customer_with_orders
from keyfence.catalogue.named import Named
from keyfence.catalogue.page import as_markdown, as_rows
from keyfence.catalogue.register import ACCESS, entities, patterns

__all__ = ["ACCESS", "Named", "as_markdown", "as_rows", "customer_with_orders", "entities", "patterns"]
