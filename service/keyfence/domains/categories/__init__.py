"""The tree of categories, and moves within it."""
