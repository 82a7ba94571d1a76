"""IAM's decision, made here: what a call asks for, and whether policies allow it."""
