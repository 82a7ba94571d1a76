"""Scopes that a token may carry."""

INTROSPECT = "introspect"
"""Whoever has it may read the schema."""
