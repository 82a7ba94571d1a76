"""Users of a tenant and their settings."""
