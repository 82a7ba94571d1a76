"""The Keyfence service: a GraphQL API for many tenants in one DynamoDB table. A tenant reaches only its own items."""
