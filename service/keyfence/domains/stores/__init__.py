"""Stores, and how near they are."""
