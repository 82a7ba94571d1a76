"""Migrations without a table."""
