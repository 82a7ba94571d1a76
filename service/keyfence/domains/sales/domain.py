"""Registers the monthly sales of products."""

from keyfence.domain import Domain
from keyfence.domains.sales import sales
from keyfence.domains.sales.graphql import SalesQueries

DOMAIN = Domain(name="sales", access_patterns=(sales,), queries=(SalesQueries,), needs=("products",))
