"""Serves GraphQL over HTTP: routes, middleware, the endpoint, the two APIs behind it, metrics and GraphiQL."""
