"""Bulk: what a tenant keeps as lines of JSON, into the table and out of it."""
