"""A fence to short-lived credentials: the only caller of STS."""
