"""Offboarding: a tenant is shut out, exported, purged, looked for everywhere, and certified to be gone."""
