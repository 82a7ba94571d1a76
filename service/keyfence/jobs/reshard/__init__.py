"""Changes the number of shards of a tenant's collection while the tenant is served."""
