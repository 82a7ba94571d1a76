"""Customers of a tenant."""
