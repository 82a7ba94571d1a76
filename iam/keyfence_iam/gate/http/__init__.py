"""AWS's wire formats: JSON for DynamoDB; forms and XML (the query protocol) for STS and IAM."""
