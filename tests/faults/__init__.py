"""Changes that are struck by faults at each of their writes."""
