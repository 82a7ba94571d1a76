"""The operators' API: its GraphQL schema and what its resolvers hold."""
