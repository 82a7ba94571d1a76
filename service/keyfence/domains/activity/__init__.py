"""The journal of a tenant: who did what, and when."""
