"""Changes with injected faults at each of their writes."""
