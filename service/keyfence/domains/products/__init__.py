"""Products, their prices and everything that they ever were."""
