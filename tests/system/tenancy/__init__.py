"""Tenants on an engine: onboarding, issuers, long lists."""
