"""Authentication: verifies a bearer token (JWT) and returns the caller."""
