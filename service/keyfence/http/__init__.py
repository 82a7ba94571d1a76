"""HTTP: routes, middleware, the GraphQL endpoint and its two APIs, metrics, GraphiQL."""
