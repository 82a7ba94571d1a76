"""Holes that a policy text can show, each with a name, the statement and the fix."""
