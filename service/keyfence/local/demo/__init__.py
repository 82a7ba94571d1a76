"""Demo data: two tenants with users, groups, products and months of orders."""
