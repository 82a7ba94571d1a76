"""Who may touch which partitions, and the proof of it."""
