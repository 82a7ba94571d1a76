"""The wire formats of AWS: JSON for DynamoDB, and the query protocol (forms and XML) for STS and IAM."""
