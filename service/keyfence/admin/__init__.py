"""The operators' API: its GraphQL schema, and the onboarding of tenants."""
