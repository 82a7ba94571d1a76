"""Orders of a tenant, with line items, history, review queue and recycle bin."""
