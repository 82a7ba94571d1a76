"""What DynamoDB requests say and cost. No IAM, no I/O."""
