"""The GraphQL engine, and the kit with which domains write types, queries and mutations. It knows no domain."""
