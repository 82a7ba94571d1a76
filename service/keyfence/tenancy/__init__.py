"""The control plane: tenants, the issuers of their tokens, their quotas and their suspension."""
