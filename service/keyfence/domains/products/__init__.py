"""Products of a tenant, with their revisions."""
