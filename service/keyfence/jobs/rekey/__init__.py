"""Derives the index keys of stored items again, after an index was added or a key template was changed."""
