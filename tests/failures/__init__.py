"""Clients, changes and processes that fail on purpose."""
