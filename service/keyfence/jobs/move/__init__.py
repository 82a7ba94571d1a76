"""Moves a tenant to a table of its own, or back to the shared table, while the tenant is served."""
