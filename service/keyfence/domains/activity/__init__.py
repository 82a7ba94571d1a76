"""The activity log of a tenant: who did what, and when."""
