"""What tenants use: no more than their quotas let them, counted by hour and operation, and what it costs."""
