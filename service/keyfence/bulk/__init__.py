"""Import and export of a tenant's records as lines of JSON."""
