"""Import and export on an engine."""
