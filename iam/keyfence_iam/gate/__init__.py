"""A local AWS that says no: DynamoDB and STS behind signatures, sessions and policies."""
