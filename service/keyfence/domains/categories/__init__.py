"""The tree of product categories of a tenant."""
