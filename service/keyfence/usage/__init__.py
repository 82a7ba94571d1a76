"""The usage of tenants by hour and operation, and its cost."""
