"""The catalogue: what is kept in the one table, every way in which it is reached, and what that costs."""

from keyfence.access_patterns.named import NamedPattern
from keyfence.access_patterns.register import ACCESS, entities, patterns
from keyfence.access_patterns.report import as_markdown, as_rows
from keyfence.domains.customers.graphql import customer_with_orders

__all__ = ["ACCESS", "NamedPattern", "as_markdown", "as_rows", "customer_with_orders", "entities", "patterns"]
