"""Offboarding: the tenant is denied access, its items are exported and purged, and a certificate is signed."""
