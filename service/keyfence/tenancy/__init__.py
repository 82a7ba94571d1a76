"""The control plane: the registered tenants, the issuers of their tokens, and their quotas."""
