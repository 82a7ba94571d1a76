"""The Keyfence service: a tenant-fenced GraphQL API over one DynamoDB table."""
