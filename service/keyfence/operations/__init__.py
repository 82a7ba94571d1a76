"""What operators do to tenants, where it needs more than the register."""
