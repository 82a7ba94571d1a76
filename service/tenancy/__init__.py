"""The control plane: which tenants there are."""
