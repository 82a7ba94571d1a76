"""The demo data on an engine."""
