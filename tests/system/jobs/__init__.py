"""Jobs on an engine: moves, reshards, rekeys, offboarding."""
