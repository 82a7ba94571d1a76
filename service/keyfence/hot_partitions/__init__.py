"""Which partitions are hot, fleet-wide, and what that means for the slots of collections."""
