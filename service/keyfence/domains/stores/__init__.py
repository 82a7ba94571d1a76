"""Stores of a tenant, and the search for those near a point."""
