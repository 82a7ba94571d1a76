"""The gate in front of an engine."""
