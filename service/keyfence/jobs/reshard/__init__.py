"""Changing the number of shards of a collection."""
