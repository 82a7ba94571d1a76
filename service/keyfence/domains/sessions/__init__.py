"""Sessions that were revoked before their tokens expired."""
