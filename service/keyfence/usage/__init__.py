"""Usage of tenants, by hour and operation, and what it costs."""
