"""Registers the monthly sales of products."""

from keyfence.domain import Domain
from keyfence.domains.sales import monthly_sales
from keyfence.domains.sales.graphql import SalesQueries

DOMAIN = Domain(name="sales", access_patterns=(monthly_sales,), queries=(SalesQueries,), depends_on=("products",))
