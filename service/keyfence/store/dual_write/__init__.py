"""Tenants on the move: every write goes to two tables."""
