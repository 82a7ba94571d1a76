"""What tenants keep: one folder a noun, always with a model, its access and a repository."""
