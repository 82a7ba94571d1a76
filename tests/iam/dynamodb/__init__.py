"""Facts of DynamoDB: sizes, capacity units, traffic, expressions, table schemas."""
