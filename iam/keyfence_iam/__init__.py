"""IAM for one DynamoDB table: policies, decisions, linting, STS sessions and a local gate."""
