"""The whole service on an engine."""
