"""The control plane: which tenants there are, who speaks for them, and what they may use."""
